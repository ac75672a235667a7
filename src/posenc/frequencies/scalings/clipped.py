"""Clipped RoPE: the slowest pairs are slowed down to a standstill."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Annotated

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Instance, Whole
from posenc.frequencies.directed import cosine_and_sine
from posenc.frequencies.geometric import Geometric
from posenc.frequencies.scalings.scaling import Scaling
from posenc.phase.frequencies import EXACT


@dataclass(frozen=True)
class Clipped(Scaling):
    """ω'_i = ω_i · (1 + cos(π·j/(count-1))) / 2 for the j-th of the `count` slowest pairs, or 0 for all of them.

    As in the authors' code (hrlics/CoPE, commit ed52ba5), where it is called CoPE; `posenc.CoPE` is another encoding of
    that name. `soft=False` is its HardClip.

    Args:
        count: Number of pairs, from the slowest; 20 of the 64 of Llama 3 in the released models.
        soft: Whether they are slowed little by little, or all stand still.
        scaling: Scaling that comes before, such as `Llama3`; None for none.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: `count` is out of range, or leaves no pair that rotates.

    References:
        Li et al. 2026, arXiv:2602.05258 (Clipped RoPE).

    Example:
        >>> from posenc.frequencies import Geometric, Rescaled
        >>> unscaled = Geometric(dim=8)
        >>> Rescaled(unscaled, Clipped(count=3)).radians().tolist()
        [1.0, 0.1, 0.005, 0.0]
        >>> Rescaled(unscaled, Clipped(count=3, soft=False)).radians().tolist()
        [1.0, 0.0, 0.0, 0.0]
    """

    count: Annotated[int, Whole(1)] = 20
    soft: bool = True
    scaling: Annotated[Scaling, Instance("a scaling or None")] | None = None

    def fits(self, unscaled: Geometric) -> None:
        if self.scaling is not None:
            self.scaling.fits(unscaled)
        most = unscaled.pairs if self.soft and self.count > 1 else unscaled.pairs - 1
        if self.count > most:
            raise ValueError(
                f"count must leave at least one of {unscaled.pairs} pairs that rotates, so it is at most {most} here; "
                f"got {self.count}. Lower it, or use NoPE."
            )

    @property
    def attention_factor(self) -> float:
        return 1.0 if self.scaling is None else self.scaling.attention_factor

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        before = unscaled.exact() if self.scaling is None else self.scaling.exact(unscaled)
        clipped = zip(before[unscaled.pairs - self.count :], _shares(self.count, self.soft), strict=True)
        slowed = (EXACT.multiply(frequency, share) for frequency, share in clipped)
        return (*before[: unscaled.pairs - self.count], *slowed)

    def float32(self, unscaled: Geometric, lib: Library) -> Array:
        before = unscaled.float32(lib) if self.scaling is None else self.scaling.float32(unscaled, lib)
        kept = unscaled.pairs - self.count
        if not self.soft:
            return lib.xp.concatenate([before[:kept], 0 * before[kept:]], 0)
        mask = 0.5 * (1.0 + lib.xp.cos(lib.constant(_angles(self), lib.xp.float32)))
        return lib.xp.concatenate([before[:kept], before[kept:] * mask], 0)


@lru_cache(maxsize=64)
def _shares(count: int, soft: bool) -> tuple[Decimal, ...]:
    """Share of its frequency that each of the slowest pairs keeps."""
    if not soft:
        return (Decimal(0),) * count
    return tuple(_share(pair, count) for pair in range(count))


def _share(pair: int, count: int) -> Decimal:
    """Share (1 + cos(π·pair/(count-1))) / 2 to 100 digits."""
    if count == 1:
        return Decimal(1)
    cosine, _ = cosine_and_sine(EXACT.divide(Decimal(pair), Decimal(count - 1)))
    return EXACT.divide(EXACT.add(Decimal(1), cosine), Decimal(2))


@arrays.host
def _angles(scaling: Clipped) -> np.ndarray:
    """Angles from 0 to π as float32, from both ends towards the middle, as torch.linspace rounds them."""
    count, end = scaling.count, np.float32(np.pi)
    step, index = end / np.float32(max(count - 1, 1)), np.arange(count, dtype=np.float32)
    return np.where(index < count // 2 if count > 1 else index == 0, step * index, end - step * (count - 1 - index))
