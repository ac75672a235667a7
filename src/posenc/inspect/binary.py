"""Counting in bits next to the encoding, and what the comparison gets wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding, Encoding
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.inspect.sinusoid_channels import sinusoid_channels
from posenc.inspect.spectrum import frequencies_of, spectrum
from posenc.phase import phase


@dataclass(frozen=True, eq=False)
class BinaryCounting(text_lines.Lines):
    """Numbers 0 … count-1 in bits, most significant first, with the rows of an encoding.

    Args:
        table: (count, bits) of 0 and 1.
        flips: After how many numbers each bit changes; period: twice that; (bits,) each.
        rows: The encoding of the same numbers.
        wavelengths: Of its pairs, from the fastest.
    """

    table: np.ndarray
    flips: np.ndarray
    periods: np.ndarray
    encoding: AdditiveEncoding
    rows: np.ndarray
    wavelengths: np.ndarray

    def lines(self) -> list[str]:
        bits = self.table.shape[1]
        width = len(str(len(self.table) - 1))
        rows = [
            f"{index:>{width}}:  {' '.join(map(str, line))}   {text_lines.vector(row, 2)}"
            for index, (line, row) in enumerate(zip(self.table, self.rows, strict=True))
        ]
        flips = ", ".join(str(flip) for flip in self.flips[::-1])
        return [
            f"{text_lines.count(bits, 'bit')}, most significant first, with {text_lines.short(self.encoding)}",
            *rows,
            f"From the right, the bits flip every {flips} numbers: periods {', '.join(map(str, self.periods[::-1]))}.",
            *self.corrections(),
        ]

    def corrections(self) -> list[str]:
        """What the analogy with bits gets wrong."""
        fastest, last = float(self.wavelengths[0]), float(self.wavelengths[-1])
        ratio = spectrum(self.encoding).ratio
        growth = "no fixed multiple of" if math.isnan(ratio) else f"{text_lines.number(ratio, 4)} times"
        revolutions = f"2π = {fastest:.3f}" if math.isclose(fastest, 2 * math.pi) else f"{fastest:.3f}"
        return [
            "What the comparison gets wrong:",
            f"- The fastest pair has period {revolutions}, not 2 like the rightmost bit: it does not flip with every number.",
            f"- A bit's period is twice that of the bit before; here each period is {growth} the one before, "
            f"up to {last:,.1f}.",
            "- A bit is 0 or 1; a channel takes every value between -1 and 1, and a pair of them is needed to tell "
            "where in its period a position stands.",
        ]


def binary_counting(count: int = 16, bits: int = 4, encoding: AdditiveEncoding | None = None) -> BinaryCounting:
    """Counting in bits next to an encoding (by default Sinusoidal(dim=2·bits)).

    Example:
        >>> binary_counting(4, 2).table.tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    bits = validation.integer("bits", bits, 1, 30)
    count = validation.integer("count", count, 1, 1 << 20)
    if count > 1 << bits:
        raise ValueError(f"count must be at most {1 << bits} for {bits} bits; got {count}. Give more bits.")
    encoding = (
        Sinusoidal(dim=2 * bits)
        if encoding is None
        else validation.instance("encoding", encoding, AdditiveEncoding, "an encoding that adds")
    )
    numbers = np.arange(count)
    weights = np.arange(bits)[::-1]
    return BinaryCounting(
        (numbers[:, None] >> weights) & 1,
        1 << weights,
        2 << weights,
        encoding,
        np.asarray(encoding.embed(numbers)),
        frequencies_of(encoding).wavelengths(),
    )


@dataclass(frozen=True, eq=False)
class Dials(text_lines.Lines):
    """Each pair of channels as the hand of a dial: how far it has rotated at one position.

    turns: part of a whole revolution, from 0 up to 1.

    Args:
        completed: Whole revolutions before it.
        degrees: The same angle.
        radians: The same angle.
        x: Cosine and sine of it, where the hand points; shape (pairs,) each.
        y: Cosine and sine of it, where the hand points; shape (pairs,) each.
    """

    encoding: Encoding
    position: int
    revolutions: np.ndarray
    completed: np.ndarray
    wavelengths: np.ndarray

    @property
    def degrees(self) -> np.ndarray:
        return 360.0 * self.revolutions

    @property
    def radians(self) -> np.ndarray:
        return 2 * math.pi * self.revolutions

    @property
    def x(self) -> np.ndarray:
        return np.asarray(np.cos(self.radians))

    @property
    def y(self) -> np.ndarray:
        return np.asarray(np.sin(self.radians))

    def lines(self) -> list[str]:
        rows = [
            [str(pair), f"{length:,.2f}", str(whole), f"{revolution:.4f}", f"{360 * revolution:.1f}°"]
            for pair, (length, whole, revolution) in enumerate(
                zip(self.wavelengths, self.completed, self.revolutions, strict=True)
            )
        ]
        head = ["dial", "period", "whole revolutions", "part", "angle"]
        binary = f" = {self.position:b} in binary" if self.position >= 0 else ""
        return [f"position {self.position}{binary}, {text_lines.short(self.encoding)}", *text_lines.aligned(head, rows)]


def dials(encoding: Encoding, position: int) -> Dials:
    """The angle of every pair at a whole position, modulo one revolution, from the exact phase.

    Example:
        >>> dials(Sinusoidal(dim=8), 150).degrees.round(1).tolist()
        [314.4, 139.4, 85.9, 8.6]
    """
    position = validation.integer("position", position, -(2**53), 2**53)
    frequencies = frequencies_of(encoding)
    channels = sinusoid_channels(encoding)
    shifted = position + (channels.start if channels else 0)
    quarter, rest = phase(shifted, frequencies).quarters()
    revolutions = (np.asarray(quarter) % 4.0 + np.asarray(rest)) / 4 % 1.0
    lengths = frequencies.wavelengths()
    return Dials(encoding, position, revolutions, np.round(shifted / lengths - revolutions).astype(np.int64), lengths)
