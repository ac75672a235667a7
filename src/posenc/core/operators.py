"""Operators other than `Rotation`, which rotary encodings return where they do not rotate pairs of channels.

Their tables are float32 or float64, also where 16 bits are asked for: the products are formed in them and rounded
once.
"""

from __future__ import annotations

from dataclasses import dataclass

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.rotation import Operator, OperatorLayout, Rotation, as_precise, with_heads


@dataclass(frozen=True, eq=False)
class Rebased(Operator):
    """x → x + U·(rotation(Uᵀx) - Uᵀx): a rotation in the space that the columns of U span; what is orthogonal stays.

    Args:
        rotation: Rotation in that space.
        basis: U, (dim, width of the rotation), orthonormal columns. Where it is square this is U·rotation(Uᵀx).
    """

    rotation: Rotation
    basis: Array

    @property
    def dim(self) -> int:
        return int(self.basis.shape[0])

    def __call__(self, x: Array, *, layout: OperatorLayout | None = None) -> Array:
        lib, y = as_precise("x", x, self.basis)
        with_heads(self.rotation.cos, y, layout, self.dim, self.rotation.heads)  # refuses what does not belong together
        basis = lib.astype(self.basis, y.dtype)
        inside = lib.product(y, basis)
        rotated = self.rotation(inside, layout=layout)
        if self.rotation.dim == self.dim:
            return lib.astype(lib.product(rotated, basis.swapaxes(0, 1)), x.dtype)
        return lib.astype(y + lib.product(rotated - inside, basis.swapaxes(0, 1)), x.dtype)

    def inverse(self) -> Rebased:
        """Inverse rotation, in the same basis."""
        return Rebased(self.rotation.inverse(), self.basis)


@dataclass(frozen=True, eq=False)
class Polar(Operator):
    """x → (softplus(x)·cos, softplus(x)·sin): each channel a length, rotated by an angle of its own; twice as wide.

    Shapes: cos and sin (*batch, n, dim), or (*batch, heads, n, dim) where `heads` says that each has its own.
    """

    cos: Array
    sin: Array
    heads: int | None = None

    @property
    def dim(self) -> int:
        return int(self.cos.shape[-1])

    @property
    def width(self) -> int:
        return 2 * self.dim

    def __call__(self, x: Array, *, layout: OperatorLayout | None = None) -> Array:
        lib, y = as_precise("x", x, self.cos)
        parts = (with_heads(part, x, layout, self.dim, self.heads) for part in (self.cos, self.sin))
        cos, sin = (lib.astype(part, y.dtype) for part in parts)
        length = lib.xp.logaddexp(y, lib.xp.zeros_like(y))
        return lib.astype(lib.xp.concatenate([length * cos, length * sin], -1), x.dtype)


@dataclass(frozen=True, eq=False)
class Matrices(Operator):
    """x → M·x with an orthogonal matrix for each place: blocks along the diagonal, each for as many channels in a row.

    Args:
        matrix: (*batch, [heads,] n, blocks, size, size).
        heads: Number of heads, where each has its own.
    """

    matrix: Array
    heads: int | None = None

    @property
    def dim(self) -> int:
        return int(self.matrix.shape[-3] * self.matrix.shape[-1])

    def __call__(self, x: Array, *, layout: OperatorLayout | None = None) -> Array:
        lib, y = as_precise("x", x, self.matrix)
        matrix = lib.astype(with_heads(self.matrix, x, layout, self.dim, self.heads, tail=3), y.dtype)
        parts = y.reshape((*y.shape[:-1], self.matrix.shape[-3], 1, self.matrix.shape[-1]))
        return lib.astype(lib.contracted(matrix, parts).reshape(y.shape), x.dtype)

    def inverse(self) -> Matrices:
        """Operator with the transpose of each block."""
        return Matrices(self.matrix.swapaxes(-1, -2), self.heads)


@dataclass(frozen=True, eq=False)
class ByChannel(Operator):
    """(a, b) → (a·cos - b·sin, b·cos' + a·sin') for channels i and i + dim/2, each with an angle of its own.

    Shapes: cos and sin (*batch, n, dim). It is a rotation only where the two angles are the same, and it has no inverse
    where they are a quarter turn apart.
    """

    cos: Array
    sin: Array

    @property
    def dim(self) -> int:
        return int(self.cos.shape[-1])

    def __call__(self, x: Array, *, layout: OperatorLayout | None = None) -> Array:
        lib, y = as_precise("x", x, self.cos)
        cos, sin = (lib.astype(with_heads(part, x, layout, self.dim), y.dtype) for part in (self.cos, self.sin))
        first, second = y[..., : self.dim // 2], y[..., self.dim // 2 :]
        crossed = lib.xp.concatenate([-second, first], -1)
        return lib.astype(y * cos + crossed * sin, x.dtype)


@dataclass(frozen=True, eq=False)
class MatrixRotation(Operator):
    """x → rotation(M·x), with a matrix M for each head, which is the same at every place.

    Args:
        rotation: Rotation of the product.
        matrix: (heads, dim, dim).
    """

    rotation: Rotation
    matrix: Array

    @property
    def dim(self) -> int:
        return self.rotation.dim

    @property
    def heads(self) -> int:
        return int(self.matrix.shape[0])

    def __call__(self, x: Array, *, layout: OperatorLayout | None = None) -> Array:
        lib, y = as_precise("x", x, self.matrix)
        places = self.rotation.cos[..., :1]
        if self.rotation.heads is None:
            places = lib.xp.broadcast_to(places[..., None, :, :], (*places.shape[:-2], self.heads, *places.shape[-2:]))
        with_heads(places, x, layout, self.dim, self.heads)  # refuses what does not belong together
        return lib.astype(self.rotation(self._multiplied(y, layout), layout=layout), x.dtype)

    def _multiplied(self, y: Array, layout: OperatorLayout | None) -> Array:
        """Product M·y with the matrix of each head."""
        lib, shape = arrays.library(y), y.shape
        rows = y.reshape((*shape[:2], self.heads, self.dim)) if layout == "btkgd" else y
        rows = rows if layout == "bhtd" else rows.swapaxes(-2, -3)
        matrix = lib.astype(self.matrix, y.dtype).swapaxes(-1, -2)
        rows = lib.product(rows, matrix if rows.ndim == 3 else matrix[None])
        return (rows if layout == "bhtd" else rows.swapaxes(-2, -3)).reshape(shape)
