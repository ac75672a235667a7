"""Maps of the vectors of a head by cameras: one matrix for all groups of channels, and different maps side by side."""

from __future__ import annotations

from dataclasses import dataclass

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.rotation import Operator, OperatorLayout, as_precise, with_heads


@dataclass(frozen=True, eq=False)
class CameraTransforms:
    """Maps of the vectors of each token; made once for a step's cameras, applied in every layer and head.

    output(Σ_n weight(m, n)·value(v_n)), with weights from the logits query(q_m)·key(k_n). In cross-attention `query`
    and `output` come from the cameras of the queries, `key` and `value` from those of the keys.

    Each is an `Operator`: call it with x, (*batch, n, dim) without heads, or with heads and a `layout`, "bhtd" or
    "bthd". The products are formed in float32 at least and rounded once to the dtype of x.

    Attributes:
        query: Map of queries.
        key: Map of keys.
        value: Map of values.
        output: Map of the output.
    """

    query: Operator
    key: Operator
    value: Operator
    output: Operator


@dataclass(frozen=True, eq=False)
class Tiled(Operator):
    """x → M·x for every `size` channels in a row, with one matrix for each token.

    Args:
        matrix: (*batch, n, size, size).
        channels: Channels of a head.
    """

    matrix: Array
    channels: int

    @property
    def dim(self) -> int:
        return self.channels

    def __call__(self, x: Array, *, layout: OperatorLayout | None = None) -> Array:
        lib, y = as_precise("x", x, self.matrix)
        matrix = lib.astype(with_heads(self.matrix, x, layout, self.dim, tail=2), y.dtype)
        size = self.matrix.shape[-1]
        rows = y.reshape((*y.shape[:-1], self.dim // size, size))
        return lib.astype(lib.product(rows, matrix.swapaxes(-1, -2)).reshape(y.shape), x.dtype)


@dataclass(frozen=True, eq=False)
class BlockDiagonal(Operator):
    """Maps side by side, each for its own channels, the first one for the first channels."""

    parts: tuple[Operator, ...]

    @property
    def dim(self) -> int:
        return sum(part.dim for part in self.parts)

    def __call__(self, x: Array, *, layout: OperatorLayout | None = None) -> Array:
        lib = arrays.library(arrays.floats("x", x))
        if x.ndim < 2 or x.shape[-1] != self.dim:
            raise ValueError(
                f"x must have {self.dim} channels in its last axis; got shape {tuple(x.shape)}. Give the whole head."
            )
        mapped, start = [], 0
        for part in self.parts:
            mapped.append(part(x[..., start : start + part.dim], layout=layout))
            start += part.dim
        return lib.xp.concatenate(mapped, -1)


@dataclass(frozen=True, eq=False)
class Unchanged(Operator):
    """x → x, for channels and vectors that cameras leave as they are."""

    channels: int

    @property
    def dim(self) -> int:
        return self.channels

    def __call__(self, x: Array, *, layout: OperatorLayout | None = None) -> Array:
        return x
