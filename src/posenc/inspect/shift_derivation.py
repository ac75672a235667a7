"""Why a shift of position is a rotation: M(k) derived from the addition theorems, with numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding
from posenc.inspect.shift_matrix import paired
from posenc.phase import cosine_sine


class DerivationStep(NamedTuple):
    """What is done, the formula, and the same with numbers."""

    action: str
    formula: str
    numbers: str


@dataclass(frozen=True, eq=False)
class ShiftDerivation(text_lines.Lines):
    """M(k) for one pair of channels.

    Args:
        frequency: ω, radians a step.
        before: [sin, cos] at `position` and at `position` + `offset`.
        matrix: (2, 2), with after = matrix·before.
        after: [sin, cos] at `position` and at `position` + `offset`.
    """

    encoding: AdditiveEncoding
    pair: int
    position: int
    offset: int
    frequency: float
    before: np.ndarray
    matrix: np.ndarray
    after: np.ndarray

    @property
    def steps(self) -> tuple[DerivationStep, ...]:
        """From the definition to the matrix."""
        (s, c), (sn, cn) = (tuple(text_lines.number(value, 4) for value in pair) for pair in (self.before, self.after))
        (ck, sk), (minus_sk, _) = (tuple(text_lines.number(value, 4) for value in row) for row in self.matrix)
        squares = [text_lines.number(value**2, 4) for value in self.matrix[0]]
        return (
            DerivationStep(
                "The pair at t + k holds the sine and the cosine of ω(t + k).",
                "[sin(ωt + ωk), cos(ωt + ωk)]",
                f"[{sn}, {cn}]",
            ),
            DerivationStep(
                "Addition theorem of the sine.",
                "sin(ωt + ωk) = sin(ωt)·cos(ωk) + cos(ωt)·sin(ωk)",
                f"{sn} = {s}·{_bracketed(ck)} + {c}·{_bracketed(sk)}",
            ),
            DerivationStep(
                "Addition theorem of the cosine.",
                "cos(ωt + ωk) = cos(ωt)·cos(ωk) - sin(ωt)·sin(ωk)",
                f"{cn} = {c}·{_bracketed(ck)} - {_bracketed(s)}·{_bracketed(sk)}",
            ),
            DerivationStep(
                "Both are linear in sin(ωt) and cos(ωt). So one matrix does it, and t does not occur in it.",
                "[sin(ωt + ωk), cos(ωt + ωk)] = [[cos ωk, sin ωk], [-sin ωk, cos ωk]]·[sin ωt, cos ωt]",
                f"[{sn}, {cn}] = [[{ck}, {sk}], [{minus_sk}, {ck}]]·[{s}, {c}]",
            ),
            DerivationStep(
                "Its columns are perpendicular and have length 1: it is a rotation by ωk.",
                "cos²(ωk) + sin²(ωk) = 1",
                f"{squares[0]} + {squares[1]} = 1",
            ),
        )

    def lines(self) -> list[str]:
        title = f"{text_lines.short(self.encoding)}, pair {self.pair}: ω = {text_lines.number(self.frequency)}, t = {self.position}"
        return [f"{title}, k = {self.offset}", *(line for step in self.steps for line in _indented(step))]


def shift_derivation(encoding: AdditiveEncoding, offset: int, *, position: int = 5, pair: int = 0) -> ShiftDerivation:
    """M(offset) of one pair, derived step by step from sin(a+b) and cos(a+b).

    Vaswani et al. 2017, arXiv:1706.03762, §3.5, states that PE(t+k) is a linear function of PE(t); this is why.

    Args:
        offset: Whole numbers of tokens.
        position: Whole numbers of tokens.

    Raises:
        TypeError: For an encoding not made of sinusoids, ValueError where a sine lacks a cosine or naming the argument.

    Example:
        >>> from posenc import Sinusoidal
        >>> shift_derivation(Sinusoidal(dim=4), 2).steps[1].numbers
        '0.657 = -0.9589·(-0.4161) + 0.2837·0.9093'
    """
    sinusoids = paired(encoding)
    offset = validation.integer("offset", offset, -(2**52), 2**52)
    position = validation.integer("position", position, -(2**52), 2**52)
    frequencies = sinusoids.frequencies
    if frequencies is None:
        raise TypeError(
            f"encoding must have a frequency; got {validation.shown(encoding)}. Give Sinusoidal(dim=8), say."
        )
    pair = validation.integer("pair", pair, 0, frequencies.pairs - 1)
    start = position + sinusoids.start
    cosine, sine = (
        np.asarray(part, dtype=np.float64)[:, pair]
        for part in cosine_sine(np.array([start, start + offset, offset]), frequencies)
    )
    matrix = np.array([[cosine[2], sine[2]], [-sine[2], cosine[2]]])
    before, after = (np.array([sine[index], cosine[index]]) for index in (0, 1))
    return ShiftDerivation(encoding, pair, position, offset, float(frequencies.radians()[pair]), before, matrix, after)


def _bracketed(number: str) -> str:
    return f"({number})" if number.startswith("-") else number


def _indented(step: DerivationStep) -> list[str]:
    return [step.action, f"  {step.formula}", f"  {step.numbers}"]
