"""The rotation of queries and keys as a matrix for each position, and what holds of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.core import arrays, text_lines, validation
from posenc.core.arrays import Array
from posenc.core.doors import Params, RotaryEncoding
from posenc.core.rotation import of_pairs


@dataclass(frozen=True, eq=False)
class RotationError(text_lines.Lines):
    """What is left of each property of a rotation, as the largest difference found; all are rounding where it holds.

    Args:
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
        return [
            text_lines.short(self.encoding),
            f"matrix·x against the efficient form    {self.efficient:.1e}",
            f"length kept, relative                  {self.norm:.1e}",
            f"q·k under a common shift, relative     {self.relative:.1e}",
            f"RᵀR against the unit matrix            {self.orthogonality:.1e}",
        ]


def rotation_matrices(encoding: RotaryEncoding, positions: Array, params: Params | None = None) -> np.ndarray:
    """R with R(m)·x = x rotated at position m; shape (n, d, d), float64, for positions (n,).

    Su et al. 2021, arXiv:2104.09864, eq. 15. Built from the angles of the pairs, not by rotating vectors, so that the
    efficient form (eq. 34) can be compared with it. TypeError for an encoding that does not rotate.

    Example:
        >>> from posenc import RoPE
        >>> rotation_matrices(RoPE(dim=2), [1]).round(4).tolist()
        [[[0.5403, -0.8415], [0.8415, 0.5403]]]
    """
    _rotating(encoding)
    validation.one_axis("encoding", encoding)
    positions = np.atleast_1d(np.asarray(arrays.as_array("positions", positions)))
    validation.size("positions", positions.size * encoding.head_dim**2)
    rotation = of_pairs("encoding", encoding.rotation(positions, params, role="query"))
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
    """The four properties of a rotation, measured on one vector of the normal distribution for each position (n,).

    Example:
        >>> from posenc import RoPE
        >>> rotation_error(RoPE(dim=8), range(50)).efficient < 1e-14
        True
    """
    _rotating(encoding)
    validation.one_axis("encoding", encoding)
    positions = np.atleast_1d(np.asarray(arrays.as_array("positions", positions)))
    shift = validation.integer("shift", shift, -(2**31), 2**31)
    matrices = rotation_matrices(encoding, positions, params)
    x = np.random.default_rng(validation.integer("seed", seed, 0)).standard_normal(
        (2, positions.size, encoding.head_dim)
    )
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
    products: np.ndarray = q @ k.T
    return products


def _rotating(encoding: RotaryEncoding) -> None:
    validation.instance("encoding", encoding, RotaryEncoding, "an encoding that rotates")
