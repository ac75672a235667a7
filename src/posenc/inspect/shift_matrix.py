"""A shift of position as a matrix: PE(t+k) = M(k)·PE(t)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.core import arrays, text_lines, validation
from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding
from posenc.inspect.sinusoid_channels import SinusoidChannels, required_channels
from posenc.phase import cosine_sine


@dataclass(frozen=True, eq=False)
class ShiftError(text_lines.Lines):
    """How far M(offset)·PE(t) is from PE(t+offset), and M from a rotation.

    Args:
        pairs: The largest difference over all positions and offsets for each pair; shape (pairs,).
        largest: Over all channels.
        orthogonality: The largest entry of |MᵀM - 1|.
        determinant: Largest |det M - 1|.
    """

    encoding: AdditiveEncoding
    pairs: np.ndarray
    largest: float
    orthogonality: float
    determinant: float

    def lines(self) -> list[str]:
        return [
            f"{text_lines.short(self.encoding)}: PE(t+k) = M(k)·PE(t) in {text_lines.count(len(self.pairs), 'pair')}",
            f"largest difference         {self.largest:.1e}",
            f"M is a rotation: |MᵀM - 1| {self.orthogonality:.1e}, |det M - 1| {self.determinant:.1e}",
        ]


def shift_matrix(encoding: AdditiveEncoding, offset: Array) -> np.ndarray:
    """M(offset) with PE(t+offset) = M·PE(t) for every t: each pair is rotated by offset·ω.

    Vaswani et al. 2017, arXiv:1706.03762, §3.5.

    Args:
        offset: A number of steps, or (k,) of them; result (width, width) or (k, width, width), float64. TypeError for
            an encoding not made of sinusoids; ValueError where a sine lacks a cosine.

    Example:
        >>> from posenc import Sinusoidal
        >>> shift_matrix(Sinusoidal(dim=2), 1).round(4).tolist()
        [[0.5403, 0.8415], [-0.8415, 0.5403]]
    """
    sinusoids = paired(encoding)
    offset = np.asarray(arrays.as_array("offset", offset))
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
    """The differences between M(offset)·PE(t) and PE(t+offset) for every t in positions (n,) and offset in (k,).

    Example:
        >>> from posenc import Sinusoidal
        >>> shift_error(Sinusoidal(dim=8), [0, 5, 100], [1, 7]).largest < 1e-14
        True
    """
    sinusoids = paired(encoding)
    positions, offsets = (
        np.atleast_1d(np.asarray(arrays.as_array(name, value)))
        for name, value in (("positions", positions), ("offsets", offsets))
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


def paired(encoding: AdditiveEncoding) -> SinusoidChannels:
    """The sinusoids of an encoding whose sines all have a cosine, or the error that a shift is not linear."""
    sinusoids = required_channels(encoding)
    if not sinusoids.paired:
        raise ValueError(
            f"encoding must hold a cosine for every sine for a shift to be linear; got {validation.shown(encoding)}. "
            "Give it an even width, or odd='zero'."
        )
    return sinusoids
