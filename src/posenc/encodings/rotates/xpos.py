"""Extrapolatable rotary position embedding: a rotation whose effect decays with distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, ClassVar

from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions, checked
from posenc.core.declared_fields import Base, EvenWidth, Real, Whole
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Pairing, PairLayout, Rotation
from posenc.core.row import Row
from posenc.frequencies import Geometric
from posenc.phase import Frequencies, cos_sin, power_of_two
from posenc.phase.frequencies import EXACT, TWO_PI

#: Powers of two that a vector may grow or shrink by: float32 and bfloat16 hold them.
LARGEST_POWER = 100


@dataclass(frozen=True)
class Decays(Frequencies):
    """Decays -log2(ζ_i)/scale_base, ζ_i = (2i/dim + gamma) / (1 + gamma), in the form that `power_of_two` takes.

    Args:
        dim: Channels of a head.
        gamma: Keeps ζ_0 above 0.
        scale_base: Steps over which a pair decays by ζ_i.
    """

    dim: int
    gamma: float
    scale_base: float

    @property
    def pairs(self) -> int:
        return self.dim // 2

    def exact(self) -> tuple[Decimal, ...]:
        gamma, two = Decimal(self.gamma), EXACT.ln(Decimal(2))
        whole = EXACT.add(Decimal(1), gamma)
        shares = (EXACT.divide(Decimal(2 * i), Decimal(self.dim)) for i in range(self.pairs))
        ratios = [EXACT.divide(whole, EXACT.add(share, gamma)) for share in shares]
        steps = EXACT.multiply(two, Decimal(self.scale_base))
        return tuple(EXACT.multiply(EXACT.divide(EXACT.ln(ratio), steps), TWO_PI) for ratio in ratios)


@dataclass(frozen=True)
class XPos(RotaryEncoding):
    """Rotate pair i by p·base^(-2i/dim), and stretch queries by ζ_i^((p-centre)/scale_base), keys by the inverse.

    Sun et al. 2023, arXiv:2212.10554: ζ_i = (2i/dim + gamma)/(1 + gamma), so that a pair's part of q·k is multiplied by
    ζ_i^((m-n)/scale_base), which is relative: the centre cancels. In other libraries the centre is half the current
    length, so keys cached at one length do not fit queries at another. Here the centre is a field, so they do.

    Positions (*batch, n), integers or float32/float64; the Rotation holds cos and sin times the stretch, (*batch, n,
    dim/2). role must be "query" or "key", which differ.

    Args:
        dim: Channels of a head.
        base: Frequency i is base^(-2i/dim), in radians per step.
        scale_base: Steps over which a pair decays by ζ_i.
        gamma: Keeps ζ_0 above 0.
        centre: The position that is not stretched. Positions may be as far from it as the stretch stays within 2^±100
            (28,000 steps by default: raise scale_base for more); float16 holds 2^±14 alone.
        pairing: "adjacent" pairs channels (2i, 2i+1), "halves" (i, i + dim/2).

    Raises:
        ValueError: An argument breaks its rule; the message names it. A position too far away that cannot be seen gives
            NaN.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> encoding, x = XPos(dim=2, scale_base=1.0, gamma=1.0), np.array([[1.0, 0.0]])
        >>> q, k = encoding.rotation([3], role="query")(x), encoding.rotation([1], role="key")(x)
        >>> bool(np.isclose(q @ k[0], np.cos(2) / 2**2)[0])  # ζ = 1/2, two steps apart
        True
    """

    dim: EvenWidth
    base: Base = 10_000.0
    scale_base: Annotated[float, Real(0.0, 1e9, above=True)] = 512.0
    gamma: Annotated[float, Real(0.0, 1e3, above=True)] = 0.4
    centre: Annotated[int, Whole(-(2**30), 2**30)] = 0
    pairing: PairLayout = "adjacent"

    claims = frozenset({"relative", "streaming", "fractional"})
    roles_differ: ClassVar[str] = "which stretches one and shrinks the other"

    @cached_property
    def frequencies(self) -> Geometric:
        """Frequency of each pair."""
        return Geometric(self.dim, self.base)

    @cached_property
    def decays(self) -> Decays:
        """How fast each pair decays."""
        return Decays(self.dim, self.gamma, self.scale_base)

    @cached_property
    def farthest(self) -> int:
        """How many steps from the centre a position may be."""
        return int(min(LARGEST_POWER * self.scale_base / math.log2((1 + self.gamma) / self.gamma), 2.0**30))

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        positions, _, dtype = self.checked_call(positions, params, role, dtype)
        lib, wide = positions.lib, positions.lib.wide_dtype(dtype)
        away = lib.detach(lib.widest(positions.array)) - self.centre
        steps, guard = self._steps(positions, away, role)
        stretch = power_of_two(checked(steps), self.decays) + guard[..., None]
        tables = cos_sin(positions, self.frequencies, lib.real)
        cosine, sine = (lib.astype(lib.astype(table * stretch, wide), dtype) for table in tables)
        return Rotation(cosine, sine, Pairing(self.pairing, self.dim, self.dim), None)

    def _steps(self, positions: Positions, away: Array, role: Role) -> tuple[Array, Array]:
        """Signed steps over which a pair shrinks: centre - position for queries, position - centre for keys.

        And a guard: 0.0, or NaN for a position that is too far away and could not be read.
        """
        lib, xp = positions.lib, positions.lib.xp
        ends = lib.extremes(away)
        if ends is not None and max(-ends[0], ends[1]) > self.farthest:
            raise ValueError(
                f"positions must be within {self.farthest} steps of centre={self.centre}; got {ends[0]:g} to "
                f"{ends[1]:g} steps. "
                "Raise scale_base, or move the centre."
            )
        steps, far = lib.signed(positions.array) - self.centre, xp.abs(away) > self.farthest
        steps = xp.where(far, xp.zeros_like(steps), -steps if role == "query" else steps)
        return steps, xp.where(far, float("nan"), xp.zeros_like(away))


ROW = Row(
    XPos,
    (XPos(dim=8), XPos(dim=6, base=100.0, scale_base=64.0, gamma=1.0, centre=3, pairing="halves")),
    "Sun et al. 2023, arXiv:2212.10554",
    ("LeX", "use_xpos (rotary-embedding-torch)", "rotary_xpos (x-transformers)", "scale_base (flash-attention)"),
    "For decoders whose far tokens should matter less, without giving up a rotation.",
)
