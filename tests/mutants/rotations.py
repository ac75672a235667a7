"""Broken rotations: each is `RoPE` with one mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mutants.bug import Bug
from posenc.core import arrays
from posenc.core.rotation import Pairing, Rotation
from posenc.encodings.rotates.rope import RoPE
from posenc.phase import cosine_sine


@dataclass(frozen=True)
class PositionsInBfloat16(RoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        if hasattr(positions, "detach") and not positions.dtype.is_floating_point:
            positions = positions.bfloat16().to(positions.dtype)
        elif (
            isinstance(positions, np.ndarray)
            and positions.dtype.kind == "i"
            and np.abs(positions).max(initial=0) <= 2**53
        ):
            bits = positions.astype(np.float32).view(np.uint32) + 0x7FFF
            positions = (bits & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(np.int64)
        return super().rotation(positions, params, role=role, dtype=dtype)


@dataclass(frozen=True)
class SingleAngle(RoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        cosine, sine = cosine_sine(positions, self.frequencies, numerics="float32", dtype=dtype)
        return Rotation(cosine, sine, Pairing(self.pairing, self.dim, self.dim))


@dataclass(frozen=True)
class KeyAngleFlipped(RoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        rotation = super().rotation(positions, params, role=role, dtype=dtype)
        return rotation.inverse() if role == "key" else rotation


@dataclass(frozen=True)
class KeyOffByOne(RoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        if (
            role == "key"
            and isinstance(positions, np.ndarray)
            and positions.dtype.kind == "i"
            and positions.shape == (1,)
        ):
            positions = positions + 1
        return super().rotation(positions, params, role=role, dtype=dtype)


@dataclass(frozen=True)
class MixedPairs(Pairing):
    """Taken apart by one convention, put together by the other."""

    def join(self, first: Any, second: Any, x: Any) -> Any:
        other = "halves" if self.layout == "adjacent" else "adjacent"
        return Pairing(other, self.dim, self.width).join(first, second, x)  # type: ignore[arg-type]


@dataclass(frozen=True)
class PairsMixed(RoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        rotation = super().rotation(positions, params, role=role, dtype=dtype)
        return Rotation(rotation.cos, rotation.sin, MixedPairs(self.pairing, self.dim, self.dim))


@dataclass(frozen=True)
class LongerBySomething(RoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        rotation = super().rotation(positions, params, role=role, dtype=dtype)
        return Rotation(rotation.cos * 1.125, rotation.sin * 1.125, rotation.pairing)


class OneLayout(Rotation):
    """The axis before the last is taken for time, whatever the layout says."""

    def __call__(self, x: Any, *, layout: Any = None) -> Any:
        if layout == "bthd" and x.shape[1] == self.cos.shape[-2]:
            return Rotation(self.cos[..., :1, :], self.sin[..., :1, :], self.pairing)(x[:, :1], layout="bthd").repeat(
                x.shape[1], 1
            )
        return Rotation(self.cos, self.sin, self.pairing)(x, layout=layout)


@dataclass(frozen=True)
class LayoutIgnored(RoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        rotation = super().rotation(positions, params, role=role, dtype=dtype)
        return OneLayout(rotation.cos, rotation.sin, rotation.pairing)


@dataclass(frozen=True)
class QueryNotRotated(RoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        rotation = super().rotation(positions, params, role=role, dtype=dtype)
        xp = arrays.library(rotation.cos).xp
        return (
            Rotation(xp.ones_like(rotation.cos), xp.zeros_like(rotation.sin), rotation.pairing)
            if role == "query"
            else rotation
        )


@dataclass(frozen=True)
class HeadwiseOnly(RoPE):
    """The rotation is transposed where a batch has as many rows as heads."""

    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        rotation = super().rotation(positions, params, role=role, dtype=dtype)
        return FourAxes(rotation.cos, rotation.sin, rotation.pairing)


class FourAxes(Rotation):
    def __call__(self, x: Any, *, layout: Any = None) -> Any:
        rotated = Rotation(self.cos, self.sin, self.pairing)(x, layout=layout)
        return rotated[:, :1] + 0 * rotated if x.ndim == 4 and x.shape[1] == 12 else rotated


BUGS = (
    Bug("positions in bfloat16", PositionsInBfloat16(dim=8), "torch_rows_apart"),
    Bug("angles in float32", SingleAngle(dim=8), "claim_relative"),
    Bug("the sign of the key's angle", KeyAngleFlipped(dim=8), "roles_agree"),
    Bug("a cached key is one position late", KeyOffByOne(dim=8), "claim_streaming"),
    Bug("pairs are split one way and joined the other", PairsMixed(dim=8), "rotation_is_undone_by_its_inverse"),
    Bug("a rotation that changes lengths", LongerBySomething(dim=8), "claim_isometry"),
    Bug("the layout is ignored", LayoutIgnored(dim=8), "layouts_agree"),
    Bug("queries are not rotated", QueryNotRotated(dim=8), "query_and_key_positions_are_both_used"),
    Bug("all query heads get the first", HeadwiseOnly(dim=8), "attention_with_grouped_heads"),
)
