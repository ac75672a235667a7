"""Counting in bits next to the encoding, and a number as waves and on dials."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding, Encoding
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.inspect.encoding_facts import drawn_params
from posenc.inspect.sinusoid_channels import sinusoid_channels
from posenc.inspect.spectrum import frequencies_of, spectrum
from posenc.phase import phase


@dataclass(frozen=True, eq=False)
class BinaryCounting(text_lines.Lines):
    """Numbers 0 … count-1 in bits, most significant first, with the rows of an encoding.

    Attributes:
        table: Bits, 0 and 1, (count, bits).
        flips: Numbers after which each bit changes, (bits,).
        periods: Period of each bit, twice its flips, (bits,).
        encoding: The encoding next to them.
        rows: The encoding of the same numbers, (count, width).
        wavelengths: Wavelengths of its pairs, in their order, (pairs,).
    """

    table: np.ndarray
    flips: np.ndarray
    periods: np.ndarray
    encoding: AdditiveEncoding
    rows: np.ndarray
    wavelengths: np.ndarray

    def lines(self) -> list[str]:
        """A row for each number, the periods of the bits, and the corrections."""
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
        """Differences that the analogy with bits leaves out.

        Returns:
            Lines of text.
        """
        lengths = np.abs(self.wavelengths)  # a negative frequency turns backwards
        ratio = abs(spectrum(self.encoding).ratio)
        growth = "no fixed multiple of" if math.isnan(ratio) else f"{text_lines.number(ratio, 4)} times"
        periods = f"each period is {growth} the one before, between {lengths.min():,.1f} and {lengths.max():,.1f}"
        return [
            "What the comparison gets wrong:",
            f"- The fastest pair has period {_of_the_fastest(float(lengths.min()))}",
            "- A bit's period is twice that of the bit before; here "
            f"{periods if len(lengths) > 1 else 'is one pair alone'}.",
            "- A bit is 0 or 1; a channel takes every value between -1 and 1, and a pair of them is needed to tell "
            "where in its period a position stands.",
        ]


def _of_the_fastest(period: float) -> str:
    """A period next to that of the rightmost bit."""
    if math.isclose(period, 2):
        return "2 like the rightmost bit: its cosine flips with every number, and its sine is 0 at every one."
    written = f"2π = {period:.3f}" if math.isclose(period, 2 * math.pi) else f"{period:.3f}"
    return f"{written}, not 2 like the rightmost bit: it does not flip with every number."


def binary_counting(count: int = 16, bits: int = 4, encoding: AdditiveEncoding | None = None) -> BinaryCounting:
    """Count in bits next to an encoding.

    Args:
        count: How many numbers, at most 2^bits.
        bits: Bits of a number.
        encoding: An encoding that adds and has frequencies; Sinusoidal(dim=2·bits) if left out. What else it learns is
            drawn with seed 0.

    Returns:
        The table of bits and the rows of the encoding.

    Raises:
        TypeError: `encoding` does not add or has no frequencies.
        ValueError: `count` needs more bits, `encoding` has several axes, or an argument breaks its rule; the message
            names it.

    Example:
        >>> binary_counting(4, 2).table.tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    bits = validation.integer("bits", bits, 1, 30)
    count = validation.integer("count", count, 1, 1 << 20)
    if count > 1 << bits:
        raise ValueError(f"count must be at most {1 << bits} for {bits} bits; got {count}. Give more bits.")
    encoding = Sinusoidal(dim=2 * bits) if encoding is None else encoding
    validation.instance("encoding", encoding, AdditiveEncoding, "an encoding that adds")
    wavelengths = frequencies_of(encoding).wavelengths()
    validation.one_axis("encoding", encoding)
    numbers, weights = np.arange(count), np.arange(bits)[::-1]
    table, rows = (numbers[:, None] >> weights) & 1, np.asarray(encoding.embed(numbers, drawn_params(encoding)))
    return BinaryCounting(table, 1 << weights, 2 << weights, encoding, rows, wavelengths)


@dataclass(frozen=True, eq=False)
class Dials(text_lines.Lines):
    """Each pair of channels as the hand of a dial, at one position.

    Attributes:
        encoding: The encoding.
        position: The position.
        revolutions: Part of a revolution that each hand has made, from 0 up to 1, (pairs,).
        completed: Whole revolutions before it, (pairs,).
        wavelengths: Positions of one revolution of each pair, (pairs,).
    """

    encoding: Encoding
    position: int
    revolutions: np.ndarray
    completed: np.ndarray
    wavelengths: np.ndarray

    @property
    def degrees(self) -> np.ndarray:
        """Angle of each hand in degrees, (pairs,)."""
        return 360.0 * self.revolutions

    @property
    def radians(self) -> np.ndarray:
        """Angle of each hand in radians, (pairs,)."""
        return 2 * math.pi * self.revolutions

    @property
    def x(self) -> np.ndarray:
        """Cosine of each angle, how far the hand reaches to the right, (pairs,)."""
        return np.asarray(np.cos(self.radians))

    @property
    def y(self) -> np.ndarray:
        """Sine of each angle, how high the hand points, (pairs,)."""
        return np.asarray(np.sin(self.radians))

    def lines(self) -> list[str]:
        """A title, then a row for each dial."""
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
    """Angle of every pair at a whole position, modulo one revolution, from the exact phase.

    Args:
        encoding: An encoding with frequencies, of any door.
        position: A whole number from -2^53 to 2^53.

    Returns:
        The dials at this position.

    Raises:
        TypeError: `encoding` has no frequencies, or `position` is not whole.
        ValueError: `position` is out of range.

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


#: Positions of the axis that all waves share: from 0 to the number, but at least and at most so many before it.
SHORTEST, LONGEST = 16, 512
#: Places of a sinusoid for each position of the axis.
FINE = 8


@dataclass(frozen=True, eq=False)
class NumberWaves(text_lines.Lines):
    """Bits of a number with their square waves, and pairs of its encoding with their sines, over the same positions.

    The axis begins at 0, or 512 positions before a larger number, and ends at the number, or at 16 for a smaller one.

    Attributes:
        number: The number.
        encoding: The encoding.
        digits: Bits of the number, 0 and 1, the last digit first, (bits,).
        periods: Periods 2, 4, 8, ... of the square waves, (bits,).
        numbers: Whole positions of the axis, (positions,).
        bits: Bits of each of them, (bits, positions).
        dials: Pairs of the encoding at the number.
        places: Places of the axis where sines are given, (places,).
        sines: Sine of each pair there, (pairs, places).
    """

    number: int
    encoding: Encoding
    digits: np.ndarray
    periods: np.ndarray
    numbers: np.ndarray
    bits: np.ndarray
    dials: Dials
    places: np.ndarray
    sines: np.ndarray

    def lines(self) -> list[str]:
        """The digits with their periods, then the dials."""
        bits = [
            [str(index), f"{period:,}", str(digit)]
            for index, (period, digit) in enumerate(zip(self.periods.tolist(), self.digits.tolist(), strict=True))
        ]
        return [
            f"{self.number} = {self.number:b} in binary",
            *text_lines.aligned(["bit", "period", "digit"], bits),
            *self.dials.lines(),
        ]


def number_waves(number: int, encoding: Encoding | None = None) -> NumberWaves:
    """Compute a number's bits with their square waves, and its encoding's pairs with their sines.

    Args:
        number: A whole number from 0 to 2^53.
        encoding: An encoding with frequencies; Sinusoidal(dim=8) if left out.

    Returns:
        The digits, the dials and their waves.

    Raises:
        TypeError: `encoding` has no frequencies, or `number` is not whole.
        ValueError: `number` is out of range.

    Example:
        >>> number_waves(150).digits.tolist()
        [0, 1, 1, 0, 1, 0, 0, 1]
    """
    from posenc.encodings.adds.sinusoidal import Sinusoidal

    number = validation.integer("number", number, 0, 2**53)
    encoding = Sinusoidal(dim=8) if encoding is None else encoding
    bits = max(1, number.bit_length())
    periods = np.array([2 << index for index in range(bits)], dtype=np.int64)
    hands = dials(encoding, number)
    first, last = max(0, number - LONGEST), max(number, SHORTEST)
    numbers = np.arange(first, last + 1)
    back = np.arange((first - number) * FINE, (last - number) * FINE + 1) / FINE
    # Angles are the number's own, less those of the steps back to a place: small numbers, whatever the number is.
    sines = np.sin(2 * math.pi * (hands.revolutions[:, None] + back / hands.wavelengths[:, None]))
    return NumberWaves(
        number,
        encoding,
        np.array([number >> index & 1 for index in range(bits)]),
        periods,
        numbers,
        numbers >> np.arange(bits)[:, None] & 1,
        hands,
        number + back,
        sines,
    )
