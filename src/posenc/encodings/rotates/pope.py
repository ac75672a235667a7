"""PoPE: polar positions, each channel of a query or key a length with an angle of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.declared_fields import Base, Heads, Width
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.operators import Polar
from posenc.core.row import Row
from posenc.frequencies import Geometric
from posenc.phase import cos_sin


@dataclass(frozen=True)
class PoPE(RotaryEncoding):
    """q·k = Σ_c softplus(q_c)·softplus(k_c)·cos((m - n)·base^(-c/dim) - δ_c).

    Content is in the lengths, position in the angles.

    Gopalakrishnan et al. 2025, arXiv:2509.10534. Channel c at position p becomes softplus(x_c) at the angle
    p·base^(-c/dim), for keys with the learned phase δ_c of their head added, kept within [-2π, 0]. The result is twice
    as wide, all cosines and then all sines; the attention scale 1/√d stays that of the original width.

    Positions (*batch, n), integers or float32/float64; params["phase"] (heads, dim), radians. role must be "query" or
    "key", which differ. Gives a `Polar` operator.

    Args:
        dim: Channels of a head.
        heads: Heads of the keys as they are rotated (repeat grouped ones first).
        base: Channel c has the frequency base^(-c/dim), in radians per step.
        phase: Where δ begins, "zero" or "uniform" in [-2π, 0].

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> encoding, params, x = PoPE(dim=1, heads=1), {"phase": np.zeros((1, 1))}, np.ones((1, 1))
        >>> q = encoding.rotation([5], params, role="query")(x)
        >>> k = encoding.rotation([3], params, role="key")(x[None, None], layout="bhtd")
        >>> bool(np.isclose(q @ k[0, 0, 0], np.log(1 + np.e) ** 2 * np.cos(2)))
        True
    """

    dim: Width
    heads: Heads
    base: Base = 10_000.0
    phase: Literal["zero", "uniform"] = "zero"

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "fractional", "learned"})
    roles_differ: ClassVar[str] = "whose keys have a phase"

    def _check_together(self) -> None:
        validation.size("dim", self.dim * self.heads)

    @cached_property
    def frequencies(self) -> Geometric:
        """How fast each channel rotates."""
        return Geometric(2 * self.dim, self.base)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"phase": (self.heads, self.dim)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        if self.phase == "zero":
            return {"phase": np.zeros((self.heads, self.dim))}
        return {"phase": rng.uniform(-2 * math.pi, 0.0, (self.heads, self.dim))}

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Polar:
        positions, learned, dtype = self.checked_call(positions, params, role, dtype)
        lib, xp, wide = positions.lib, positions.lib.xp, positions.lib.wide_dtype(dtype)
        if role == "query":
            return Polar(*cos_sin(positions, self.frequencies, wide))
        cosine, sine = (table[..., None, :, :] for table in cos_sin(positions, self.frequencies, lib.real))
        delta = lib.clamped(lib.widest(learned["phase"]), -2 * math.pi, 0.0)[:, None, :]
        c, s = xp.cos(delta), xp.sin(delta)
        return Polar(lib.astype(cosine * c - sine * s, wide), lib.astype(sine * c + cosine * s, wide), self.heads)


ROW = Row(
    PoPE,
    (PoPE(dim=3, heads=2), PoPE(dim=4, heads=3, base=100.0, phase="uniform")),
    "Gopalakrishnan et al. 2025, arXiv:2509.10534",
    ("PolarEmbedding (x-transformers)", "PoPE-pytorch"),
    "For decoders that should separate matching by content from matching by position.",
)
