"""Encodings made of one other encoding, whose axes, width, parameters and claims they hand on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core.doors import AdditiveEncoding, Claim, Encoding, Role, RotaryEncoding


@dataclass(frozen=True)
class OfOne(Encoding):
    """An encoding that holds `encoding`, learns what that one learns and claims what that one claims."""

    encoding: Any

    @property
    def axes(self) -> int:
        axes: int = self.encoding.axes
        return axes

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        claims: frozenset[Claim] = self.encoding.claims
        return claims

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = self.encoding.shapes
        return shapes

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        drawn: dict[str, np.ndarray] = self.encoding.init(rng)
        return drawn


@dataclass(frozen=True)
class AddsOne(OfOne, AdditiveEncoding):
    """An encoding that adds, made of one that adds."""

    encoding: AdditiveEncoding

    @property
    def width(self) -> int:
        return self.encoding.width


@dataclass(frozen=True)
class RotatesOne(OfOne, RotaryEncoding):
    """An encoding that rotates, made of one that rotates."""

    encoding: RotaryEncoding

    @property
    def roles(self) -> tuple[Role, ...]:  # type: ignore[override]
        return self.encoding.roles

    @property
    def head_dim(self) -> int:
        return self.encoding.head_dim
