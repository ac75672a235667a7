"""Broken maps that are no rotation of pairs: a good encoding with one mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mutants.bug import Bug
from posenc.core.operators import Matrices, Rebased
from posenc.encodings.rotates.liere import LieRE
from posenc.encodings.rotates.multiplicative_grape import MultiplicativeGRAPE
from posenc.encodings.rotates.xd_rope import XDRoPE


@dataclass(frozen=True)
class SaidToCommute(LieRE):
    """Generators of two axes do not commute; along a line through the origin it looks as if they did."""

    @property
    def claims(self) -> frozenset[Any]:  # type: ignore[override]
        return super().claims | {"relative"}


@dataclass(frozen=True)
class SaidToRotate(XDRoPE):
    """Sections that cut through pairs; along a line, where all coordinates are alike, they rotate them."""

    @property
    def claims(self) -> frozenset[Any]:  # type: ignore[override]
        return super().claims | {"isometry"}


class TimeTakenForHeads(Matrices):
    """The matrices of heads are not moved behind those of places where places come first."""

    def __call__(self, x: Any, *, layout: Any = None) -> Any:
        if layout != "bthd":
            return Matrices(self.matrix, self.heads)(x, layout=layout)
        first = Matrices(self.matrix[..., :1, :, :, :, :].repeat(self.heads or 1, -5), self.heads)
        return first(x, layout=layout)


@dataclass(frozen=True)
class FirstHeadForAll(LieRE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Matrices:
        made = super().rotation(positions, params, role=role, dtype=dtype)
        return TimeTakenForHeads(made.matrix, made.heads)


class RestForgotten(Rebased):
    """What is orthogonal to the plane is lost."""

    def __call__(self, x: Any, *, layout: Any = None) -> Any:
        return self.rotation(x @ self.basis, layout=layout) @ self.basis.swapaxes(0, 1)


@dataclass(frozen=True)
class OnlyThePlane(MultiplicativeGRAPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rebased:
        made = super().rotation(positions, params, role=role, dtype=dtype)
        return RestForgotten(made.rotation, made.basis)


BUGS = (
    Bug("rotations that do not commute claim to be relative", SaidToCommute(3, 2, 3, axes=2), "claim_relative"),
    Bug(
        "a map that is a rotation only for text claims to be an isometry",
        SaidToRotate(sections=(1, 2)),
        "claim_isometry",
    ),
    Bug("all heads get the matrices of the first in one layout", FirstHeadForAll(2, 2, 2), "layouts_agree"),
    Bug("the part orthogonal to the plane of rotation is dropped", OnlyThePlane(dim=4), "claim_isometry"),
)
