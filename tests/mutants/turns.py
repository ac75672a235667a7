"""Broken rotations: each is `RoPE` with one mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mutants.bug import Bug
from posenc.core import arrays
from posenc.core.rotation import Pairing, Turn
from posenc.encodings.rotates.rope import RoPE
from posenc.phase import cosine_sine


@dataclass(frozen=True)
class PositionsInBfloat16(RoPE):
    def turn(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Turn:
        if hasattr(positions, "detach") and not positions.dtype.is_floating_point:
            positions = positions.bfloat16().to(positions.dtype)
        elif (
            isinstance(positions, np.ndarray)
            and positions.dtype.kind == "i"
            and np.abs(positions).max(initial=0) <= 2**53
        ):
            bits = positions.astype(np.float32).view(np.uint32) + 0x7FFF
            positions = (bits & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(np.int64)
        return super().turn(positions, params, role=role, dtype=dtype)


@dataclass(frozen=True)
class SingleAngle(RoPE):
    def turn(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Turn:
        cosine, sine = cosine_sine(positions, self.frequencies, numerics="float32", dtype=dtype)
        return Turn(cosine, sine, Pairing(self.pairing, self.dim, self.dim))


@dataclass(frozen=True)
class KeyAngleFlipped(RoPE):
    def turn(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Turn:
        turn = super().turn(positions, params, role=role, dtype=dtype)
        return turn.inverse() if role == "key" else turn


@dataclass(frozen=True)
class KeyOffByOne(RoPE):
    def turn(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Turn:
        if (
            role == "key"
            and isinstance(positions, np.ndarray)
            and positions.dtype.kind == "i"
            and positions.shape == (1,)
        ):
            positions = positions + 1
        return super().turn(positions, params, role=role, dtype=dtype)


@dataclass(frozen=True)
class MixedPairs(Pairing):
    """Taken apart by one convention, put together by the other."""

    def join(self, first: Any, second: Any, x: Any) -> Any:
        other = "halves" if self.layout == "adjacent" else "adjacent"
        return Pairing(other, self.dim, self.width).join(first, second, x)  # type: ignore[arg-type]


@dataclass(frozen=True)
class PairsMixed(RoPE):
    def turn(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Turn:
        turn = super().turn(positions, params, role=role, dtype=dtype)
        return Turn(turn.cos, turn.sin, MixedPairs(self.pairing, self.dim, self.dim))


@dataclass(frozen=True)
class LongerBySomething(RoPE):
    def turn(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Turn:
        turn = super().turn(positions, params, role=role, dtype=dtype)
        return Turn(turn.cos * 1.125, turn.sin * 1.125, turn.pairing)


class OneLayout(Turn):
    """The axis before the last is taken for time, whatever the layout says."""

    def __call__(self, x: Any, *, layout: Any = None) -> Any:
        if layout == "bthd" and x.shape[1] == self.cos.shape[-2]:
            return Turn(self.cos[..., :1, :], self.sin[..., :1, :], self.pairing)(x[:, :1], layout="bthd").repeat(
                x.shape[1], 1
            )
        return Turn(self.cos, self.sin, self.pairing)(x, layout=layout)


@dataclass(frozen=True)
class LayoutIgnored(RoPE):
    def turn(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Turn:
        turn = super().turn(positions, params, role=role, dtype=dtype)
        return OneLayout(turn.cos, turn.sin, turn.pairing)


@dataclass(frozen=True)
class QueryNotTurned(RoPE):
    def turn(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Turn:
        turn = super().turn(positions, params, role=role, dtype=dtype)
        xp = arrays.library(turn.cos).xp
        return Turn(xp.ones_like(turn.cos), xp.zeros_like(turn.sin), turn.pairing) if role == "query" else turn


@dataclass(frozen=True)
class HeadwiseOnly(RoPE):
    """The turn is transposed where a batch has as many rows as heads."""

    def turn(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Turn:
        turn = super().turn(positions, params, role=role, dtype=dtype)
        return FourAxes(turn.cos, turn.sin, turn.pairing)


class FourAxes(Turn):
    def __call__(self, x: Any, *, layout: Any = None) -> Any:
        turned = Turn(self.cos, self.sin, self.pairing)(x, layout=layout)
        return turned[:, :1] + 0 * turned if x.ndim == 4 and x.shape[1] == 12 else turned


BUGS = (
    Bug("positions in bfloat16", PositionsInBfloat16(dim=8), "torch_rows_apart"),
    Bug("angles in float32", SingleAngle(dim=8), "claim_relative"),
    Bug("the sign of the key's angle", KeyAngleFlipped(dim=8), "roles_agree"),
    Bug("a cached key is one position late", KeyOffByOne(dim=8), "claim_streaming"),
    Bug("pairs are split one way and joined the other", PairsMixed(dim=8), "turn_is_undone_by_its_inverse"),
    Bug("a rotation that changes lengths", LongerBySomething(dim=8), "claim_isometry"),
    Bug("the layout is ignored", LayoutIgnored(dim=8), "layouts_agree"),
    Bug("queries are not turned", QueryNotTurned(dim=8), "query_and_key_positions_are_both_used"),
    Bug("all query heads get the first", HeadwiseOnly(dim=8), "attention_with_grouped_heads"),
)
