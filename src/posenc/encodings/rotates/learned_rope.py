"""Rotary position embedding whose frequencies are learned."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from posenc.core.arrays import Array
from posenc.core.declared_fields import Base, EvenWidth
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Pairing, PairLayout, Rotation
from posenc.core.row import Row
from posenc.frequencies import Geometric
from posenc.phase import cos_sin_of_learned


@dataclass(frozen=True)
class LearnedRoPE(RotaryEncoding):
    """Rotate pair i of a query or key at position p by the angle p·frequencies[i], with the frequencies learned.

    The rotation of Su et al. 2021, arXiv:2104.09864, eq. 15, whose §3.4.2 leaves the frequencies open to training
    (`learned_freq` in rotary-embedding-torch). They begin as base^(-2i/dim). The gradient by a frequency grows with
    position: far positions move it most.

    Positions (*batch, n), integers or float32/float64; params["frequencies"] (dim/2,), radians a step; the Rotation
    holds cos and sin of shape (*batch, n, dim/2), exact for the frequencies as they are held, at every position.
    Frequencies of 2^27 or more give NaN.

    Args:
        dim: Channels of a head.
        base: Where the frequencies begin: base^(-2i/dim), in radians per step.
        pairing: "adjacent" pairs channels (2i, 2i+1), "halves" (i, i + dim/2).

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> rotation = LearnedRoPE(dim=2).rotation([0, 1], {"frequencies": np.array([np.pi / 2])})
        >>> rotation(np.array([[1.0, 0.0], [1.0, 0.0]])).round(4).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    dim: EvenWidth
    base: Base = 10_000.0
    pairing: PairLayout = "adjacent"

    claims = frozenset({"relative", "isometry", "streaming", "bounded", "unlimited", "fractional", "learned"})

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"frequencies": (self.dim // 2,)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """base^(-2i/dim): nothing is drawn."""
        return {"frequencies": Geometric(self.dim, self.base).radians()}

    @cached_property
    def channels(self) -> Pairing:
        """Pairing of the channels."""
        return Pairing(self.pairing, self.dim, self.dim)

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        positions, learned, dtype = self.checked_call(positions, params, role, dtype)
        cos_sin = cos_sin_of_learned((positions,), (learned["frequencies"],), dtype)
        return Rotation(*cos_sin, self.channels)


ROW = Row(
    LearnedRoPE,
    (LearnedRoPE(dim=8), LearnedRoPE(dim=6, base=100.0, pairing="halves")),
    "Su et al. 2021, arXiv:2104.09864",
    ("learned_freq (rotary-embedding-torch)",),
    "To let training choose the wavelengths; watch the gradient, which grows with position.",
)
