"""RoPE++: heads that take the imaginary part of the rotary score, next to those that take its real part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Base, EvenWidth, Heads
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Pairing, PairLayout, Rotation
from posenc.core.row import Row
from posenc.frequencies import Geometric
from posenc.phase import cos_sin


@dataclass(frozen=True)
class RoPEPlusPlus(RotaryEncoding):
    """Query heads 0, 2, … rotate by p·base^(-2i/dim) as in RoPE, query heads 1, 3, … by a quarter turn less.

    Keys rotate as in RoPE.

    Liu et al. 2025, arXiv:2512.07525 (RoPE++). The logit of an odd head is the negative imaginary part of the complex
    product whose real part RoPE takes. Pass each projected query twice, as a head and the next one (`repeat(q, 2)`
    along the heads). With half as many projections this is the paper's EH, with as many its EC.

    Positions (*batch, n), integers or float32/float64. role must be "query" or "key", which differ; for queries the
    Rotation holds a table a head, for keys, which may be grouped, one.

    Args:
        dim: Channels of a head.
        heads: Query heads as they are rotated, an even number.
        base: Frequency i is base^(-2i/dim), in radians per step.
        pairing: "adjacent" pairs channels (2i, 2i+1); "halves" pairs (i, i + dim/2), as released.

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> rotation = RoPEPlusPlus(dim=2, heads=2).rotation([1], role="query")
        >>> rotation.cos[:, 0, 0].round(4).tolist(), rotation.sin[:, 0, 0].round(4).tolist()
        ([0.5403, 0.8415], [0.8415, -0.5403])
    """

    dim: EvenWidth
    heads: Heads
    base: Base = 10_000.0
    pairing: PairLayout = "halves"

    claims = frozenset({"relative", "isometry", "streaming", "bounded", "unlimited", "fractional"})
    roles_differ: ClassVar[str] = "which treats them differently"

    def _check_together(self) -> None:
        if self.heads % 2:
            raise ValueError(
                f"heads must be even, since each real head has an imaginary one; got {self.heads}. Add one."
            )

    @cached_property
    def frequencies(self) -> Geometric:
        """Frequency of each pair."""
        return Geometric(self.dim, self.base)

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        positions, _, dtype = self.checked_call(positions, params, role, dtype)
        lib = positions.lib
        cosine, sine = cos_sin(positions, self.frequencies, dtype)
        pairing = Pairing(self.pairing, self.dim, self.dim)
        if role == "key":
            return Rotation(cosine, sine, pairing)
        tables = self._alternating(cosine, sine, lib), self._alternating(sine, -cosine, lib)
        return Rotation(*tables, pairing, 1.0, self.heads)

    def _alternating(self, real: Array, imaginary: Array, lib: Library) -> Array:
        """Alternate tables (*batch, n, pairs) of even and odd heads over all heads; (*batch, heads, n, pairs)."""
        xp, (*batch, n, pairs) = lib.xp, real.shape
        two = xp.stack([real, imaginary], -3)[..., None, :, :, :]
        return xp.broadcast_to(two, (*batch, self.heads // 2, 2, n, pairs)).reshape((*batch, self.heads, n, pairs))


ROW = Row(
    RoPEPlusPlus,
    (RoPEPlusPlus(dim=4, heads=2), RoPEPlusPlus(dim=6, heads=4, base=100.0, pairing="adjacent")),
    "Liu et al. 2025, arXiv:2512.07525",
    ("RoPE++", "imag1 (EH)", "imag2 (EC)"),
    "For long contexts at half the cache, or at the same cache with twice the heads.",
)
