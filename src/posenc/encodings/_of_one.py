"""What a record of one other record hands on: its axes, what is learned and what is claimed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.doors import Claim, Encoding


@dataclass(frozen=True)
class OfOne(Encoding):
    """A record that holds `encoding`, learns what that one learns and claims what that one claims."""

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
