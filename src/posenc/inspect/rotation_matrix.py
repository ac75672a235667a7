"""The rotation of queries and keys as a table or as matrices, and the properties that hold of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.core import arrays, text_lines, validation
from posenc.core.arrays import Array
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Rotation


def rotation_table(rotation: Rotation) -> np.ndarray:
    """Cosine of each pair at the pair's first channel, sine at its second, (n, dim).

    Channels that are not rotated are NaN. The rotation is that of NumPy, the same for every head.

    Example:
        >>> from posenc import RoPE
        >>> rotation_table(RoPE(dim=4, pairing="halves").rotation([0])).tolist()
        [[1.0, 1.0, 0.0, 0.0]]
    """
    table = np.full((*np.shape(rotation.cos)[:-1], rotation.dim), np.nan)
    first, second = pair_channels(rotation)
    table[:, first], table[:, second] = rotation.cos, rotation.sin
    return table


def pair_channels(rotation: Rotation) -> tuple[np.ndarray, np.ndarray]:
    """First and second channel of each pair."""
    first, second = rotation.pairing.split(np.arange(rotation.dim)[None])
    return np.asarray(first)[0], np.asarray(second)[0]


def shared_rotation(encoding: RotaryEncoding, positions: Array, params: Params | None, role: Role) -> Rotation:
    """Rotation of pairs that all heads share; TypeError for another map, or where heads differ."""
    rotation = encoding.rotation(positions, params, role=role)
    if not isinstance(rotation, Rotation) or rotation.heads is not None:
        raise TypeError(
            f"encoding must rotate pairs, equally in every head; got {text_lines.short(encoding):.60}. "
            "Give RoPE(dim=8), say."
        )
    return rotation


@dataclass(frozen=True, eq=False)
class RotationError(text_lines.Lines):
    """Largest violation found of each property of a rotation; at rounding level where the property holds.

    Attributes:
        encoding: The encoding that was measured.
        efficient: matrix·x against the efficient form.
        norm: Length after against before, relative.
        relative: q·k at (m, n) against (m+s, n+s), relative to the lengths.
        orthogonality: Entries of |RᵀR - 1|.
    """

    encoding: RotaryEncoding
    efficient: float
    norm: float
    relative: float
    orthogonality: float

    def lines(self) -> list[str]:
        """The four figures, a line each."""
        return [
            text_lines.short(self.encoding),
            f"matrix·x against the efficient form    {self.efficient:.1e}",
            f"length kept, relative                  {self.norm:.1e}",
            f"q·k under a common shift, relative     {self.relative:.1e}",
            f"RᵀR against the unit matrix            {self.orthogonality:.1e}",
        ]


def rotation_matrices(encoding: RotaryEncoding, positions: Array, params: Params | None = None) -> np.ndarray:
    """Matrix R(m) of every position, with R(m)·x = x rotated at position m.

    Built from the angles of the pairs (eq. 15), not by rotating vectors, so that the efficient form (eq. 34) can be
    compared with it.

    Args:
        encoding: An encoding that rotates pairs, equally in every head, with one axis.
        positions: Positions, (n,).
        params: Learned parameters, where the encoding has some.

    Returns:
        R in float64, (n, head_dim, head_dim).

    Raises:
        TypeError: `encoding` does not rotate pairs, equally in every head.
        ValueError: `encoding` has several axes, or `positions` breaks its rule.

    References:
        Su et al. 2021, arXiv:2104.09864, eq. 15 and 34.

    Example:
        >>> from posenc import RoPE
        >>> rotation_matrices(RoPE(dim=2), [1]).round(4).tolist()
        [[[0.5403, -0.8415], [0.8415, 0.5403]]]
    """
    positions = _positions(encoding, positions)
    validation.size("positions", positions.size * encoding.head_dim**2)
    rotation = shared_rotation(encoding, positions, params, "query")
    first, second = rotation.pairing.split(np.arange(encoding.head_dim))
    cosine, sine = arrays.to_numpy(rotation.cos), arrays.to_numpy(rotation.sin)
    matrices = np.zeros((positions.size, encoding.head_dim, encoding.head_dim))
    matrices[:, range(encoding.head_dim), range(encoding.head_dim)] = 1.0  # channels that do not rotate
    matrices[:, first, first] = cosine
    matrices[:, first, second] = -sine
    matrices[:, second, first] = sine
    matrices[:, second, second] = cosine
    return matrices


def rotation_error(
    encoding: RotaryEncoding, positions: Array, *, shift: int = 1000, seed: int = 0, params: Params | None = None
) -> RotationError:
    """Measure the four properties of a rotation on a random vector for each position.

    Args:
        encoding: An encoding that rotates pairs, equally in every head, with one axis.
        positions: Positions, (n,).
        shift: Steps by which both positions of a product are moved.
        seed: Seed of the vectors, drawn from the normal distribution.
        params: Learned parameters, where the encoding has some.

    Returns:
        The largest violation of each property.

    Raises:
        TypeError: `encoding` does not rotate pairs, equally in every head.
        ValueError: An argument breaks its rule; the message names it.

    Example:
        >>> from posenc import RoPE
        >>> rotation_error(RoPE(dim=8), range(50)).efficient < 1e-14
        True
    """
    positions = _positions(encoding, positions)
    shift = validation.integer("shift", shift, -(2**31), 2**31)
    matrices = rotation_matrices(encoding, positions, params)
    rng = np.random.default_rng(validation.integer("seed", seed, 0))
    x = rng.standard_normal((2, positions.size, encoding.head_dim))
    lengths = np.linalg.norm(x, axis=-1)
    here = _products(encoding, x, positions, params)
    there = _products(encoding, x, arrays.library(positions).signed(positions) + shift, params)
    rotated = arrays.to_numpy(encoding.rotation(positions, params, role="query")(x[0]))
    squares = matrices.swapaxes(-1, -2) @ matrices - np.eye(encoding.head_dim)
    return RotationError(
        encoding,
        float(np.abs((matrices @ x[0][..., None])[..., 0] - rotated).max(initial=0.0)),
        float(np.abs(np.linalg.norm(rotated, axis=-1) / lengths[0] - 1.0).max(initial=0.0)),
        float((np.abs(here - there) / (lengths[0][:, None] * lengths[1])).max(initial=0.0)),
        float(np.abs(squares).max(initial=0.0)),
    )


def _products(encoding: RotaryEncoding, x: np.ndarray, positions: np.ndarray, params: Params | None) -> np.ndarray:
    """q·k of every two positions; shape (n, n)."""
    q = arrays.to_numpy(encoding.rotation(positions, params, role="query")(x[0]))
    k = arrays.to_numpy(encoding.rotation(positions, params, role="key")(x[1]))
    return np.asarray(q @ k.T)


def _positions(encoding: RotaryEncoding, positions: Array) -> np.ndarray:
    """Positions (n,) of an encoding that rotates along one axis."""
    validation.instance("encoding", encoding, RotaryEncoding, "an encoding that rotates")
    validation.one_axis("encoding", encoding)
    row = np.atleast_1d(arrays.numbers_on_host("positions", positions))
    if row.ndim != 1:
        raise ValueError(f"positions must be a row of numbers; got shape {row.shape}. Write [0, 1, 2], say.")
    return row
