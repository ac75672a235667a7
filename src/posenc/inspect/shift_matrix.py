"""A shift of position as a matrix, PE(t+k) = M(k)·PE(t), and its derivation from the addition theorems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from posenc.core import arrays, text_lines, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import checked
from posenc.core.doors import AdditiveEncoding
from posenc.inspect.sinusoid_channels import SinusoidChannels, required_channels
from posenc.phase import cosine_sine


@dataclass(frozen=True, eq=False)
class ShiftError(text_lines.Lines):
    """Distance of M(offset)·PE(t) from PE(t+offset), and of M from a rotation.

    Attributes:
        encoding: The encoding that was measured.
        pairs: Largest difference over all positions and offsets for each pair, (pairs,).
        largest: Largest difference over all channels.
        orthogonality: Largest entry of |MᵀM - 1|.
        determinant: Largest |det M - 1|.
    """

    encoding: AdditiveEncoding
    pairs: np.ndarray
    largest: float
    orthogonality: float
    determinant: float

    def lines(self) -> list[str]:
        """The three figures, a line each."""
        return [
            f"{text_lines.short(self.encoding)}: PE(t+k) = M(k)·PE(t) in {text_lines.count(len(self.pairs), 'pair')}",
            f"largest difference         {self.largest:.1e}",
            f"M is a rotation: |MᵀM - 1| {self.orthogonality:.1e}, |det M - 1| {self.determinant:.1e}",
        ]


def shift_matrix(encoding: AdditiveEncoding, offset: Array) -> np.ndarray:
    """Matrix M(offset) with PE(t+offset) = M·PE(t) for every t: each pair is rotated by offset·ω.

    Args:
        encoding: An encoding made of sinusoids, a cosine for every sine.
        offset: Number of steps, or (k,) of them.

    Returns:
        M in float64, (width, width) or (k, width, width).

    Raises:
        TypeError: `encoding` is not made of sinusoids.
        ValueError: A sine lacks its cosine.

    References:
        Vaswani et al. 2017, arXiv:1706.03762, §3.5.

    Example:
        >>> from posenc import Sinusoidal
        >>> shift_matrix(Sinusoidal(dim=2), 1).round(4).tolist()
        [[0.5403, 0.8415], [-0.8415, 0.5403]]
    """
    sinusoids = paired(encoding)
    offset = _offsets("offset", offset)
    validation.size("offset", max(1, offset.size) * sinusoids.width**2)
    matrix = np.zeros((*offset.shape, sinusoids.width, sinusoids.width))
    matrix[..., range(sinusoids.width), range(sinusoids.width)] = 1.0  # what is always 0 stays where it is
    if sinusoids.frequencies is None:
        return matrix
    cosine, sine = cosine_sine(offset, sinusoids.frequencies)
    matrix[..., sinusoids.sine, sinusoids.sine] = cosine
    matrix[..., sinusoids.sine, sinusoids.cosine] = sine
    matrix[..., sinusoids.cosine, sinusoids.sine] = -sine
    matrix[..., sinusoids.cosine, sinusoids.cosine] = cosine
    return matrix


def shift_error(encoding: AdditiveEncoding, positions: Array, offsets: Array) -> ShiftError:
    """Measure how far M(offset)·PE(t) is from PE(t+offset).

    Args:
        encoding: An encoding made of sinusoids, a cosine for every sine.
        positions: Positions t, (n,).
        offsets: Numbers of steps, (k,).

    Returns:
        The largest differences over all positions and offsets.

    Raises:
        TypeError: `encoding` is not made of sinusoids.
        ValueError: A sine lacks its cosine.

    Example:
        >>> from posenc import Sinusoidal
        >>> shift_error(Sinusoidal(dim=8), [0, 5, 100], [1, 7]).largest < 1e-14
        True
    """
    sinusoids = paired(encoding)
    positions, offsets = (
        np.atleast_1d(_offsets(name, value)) for name, value in (("positions", positions), ("offsets", offsets))
    )
    validation.size("positions and offsets", positions.size * offsets.size * sinusoids.width)
    matrices = shift_matrix(encoding, offsets)
    lib = arrays.library(positions, offsets)
    moved = np.asarray(encoding.embed(lib.signed(positions) + lib.signed(offsets)[:, None]))
    from_here = np.asarray(encoding.embed(positions)) @ matrices.swapaxes(-1, -2)
    gaps = np.abs(moved - from_here).max(axis=(0, 1), initial=0.0)
    squares = matrices.swapaxes(-1, -2) @ matrices - np.eye(sinusoids.width)
    return ShiftError(
        encoding,
        np.maximum(gaps[sinusoids.sine], gaps[sinusoids.cosine]),
        float(gaps.max(initial=0.0)),
        float(np.abs(squares).max(initial=0.0)),
        float(np.abs(np.linalg.det(matrices) - 1.0).max(initial=0.0)),
    )


def _offsets(name: str, value: Array) -> np.ndarray:
    """Check offsets: one number or a 1-D array, within the range of positions; return them as a NumPy array."""
    numbers = arrays.numbers_on_host(name, value)
    if numbers.ndim > 1:
        raise ValueError(f"{name} must be a number or a row of them; got shape {numbers.shape}. Give [0, 1, 2], say.")
    checked(numbers, name)
    return numbers


def paired(encoding: AdditiveEncoding) -> SinusoidChannels:
    """Return an encoding's sinusoids; ValueError if a sine lacks its cosine, as no linear map then shifts positions."""
    sinusoids = required_channels(encoding)
    if not sinusoids.paired:
        raise ValueError(
            f"encoding must hold a cosine for every sine for a shift to be linear; got {validation.shown(encoding)}. "
            "Give it an even width, or odd='zero'."
        )
    return sinusoids


class DerivationStep(NamedTuple):
    """A step of the derivation.

    Attributes:
        action: What is done, in words.
        formula: The formula.
        numbers: The formula with the numbers of this pair.
    """

    action: str
    formula: str
    numbers: str


@dataclass(frozen=True, eq=False)
class ShiftDerivation(text_lines.Lines):
    """Matrix M(k) for one pair of channels, with its derivation.

    Attributes:
        encoding: The encoding.
        pair: Index of the pair.
        position: Position t.
        offset: Number of steps k.
        frequency: ω in radians a step.
        before: [sin, cos] at `position`.
        matrix: M, (2, 2), with after = matrix·before.
        after: [sin, cos] at `position` + `offset`.
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
        """Steps from the definition to the matrix."""
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
        """A title, then the action, formula and numbers of each step."""
        place = f"ω = {text_lines.number(self.frequency)}, t = {self.position}, k = {self.offset}"
        title = f"{text_lines.short(self.encoding)}, pair {self.pair}: {place}"
        return [title, *(line for step in self.steps for line in _indented(step))]


def shift_derivation(encoding: AdditiveEncoding, offset: int, *, position: int = 5, pair: int = 0) -> ShiftDerivation:
    """Derive M(offset) of one pair step by step from sin(a+b) and cos(a+b).

    Vaswani et al. state that PE(t+k) is a linear function of PE(t); this is why.

    Args:
        encoding: An encoding made of sinusoids, a cosine for every sine.
        offset: Number of steps, a whole number.
        position: Position t, a whole number.
        pair: Index of the pair.

    Returns:
        The matrix, the pair before and after, and the steps.

    Raises:
        TypeError: `encoding` is not made of sinusoids.
        ValueError: A sine lacks its cosine, or an argument breaks its rule; the message names it.

    References:
        Vaswani et al. 2017, arXiv:1706.03762, §3.5.

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
