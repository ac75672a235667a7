"""Sandwich: the inner product of the sinusoids of two positions, as a bias."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.checked_positions import LARGEST_NARROW_POSITION, Positions, checked
from posenc.core.declared_fields import Base, Whole
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings._checked import CheckedBias
from posenc.frequencies import Geometric
from posenc.phase import cos_sin

#: From how many keys of one query on the sinusoids of fewer positions are made.
FEWEST = 256


@dataclass(frozen=True)
class Sandwich(CheckedBias):
    """bias(h, m, n) = Σ_i cos((m - n)·ω_i) / r_h, ω_i = base^(-2i/dim), r_h = 8(h+1)/heads, i = 0 … dim/2 - 1.

    Chi et al. 2022, arXiv:2212.10356: the inner product of the sinusoids of two positions, the only part of the
    sinusoidal encoding that it keeps, divided by ALiBi's ratios. It is largest at distance 0, where it is dim/2 / r_h.

    Positions broadcast; distances in steps; the result has no unit.

    Args:
        heads: Heads of the layer.
        dim: The d̄ of the source, even; it is not a width of the model.
        base: The b of ω_i = b^(-2i/dim), in radians per step.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> Sandwich(heads=8, dim=4).matrix([2], [2, 1, 0])[:2].round(4).tolist()  # 1 + 1, cos 1 + cos 0.01, …
        [[[2.0, 1.5403, 0.5837]], [[1.0, 0.7701, 0.2918]]]
    """

    dim: Annotated[int, Whole(2, 1 << 16, even=True)] = 128
    base: Base = 10_000.0

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "fractional", "symmetric"})

    @cached_property
    def frequencies(self) -> Geometric:
        """How fast each wave rotates."""
        return Geometric(self.dim, self.base)

    def ratios(self) -> np.ndarray:
        """Ratio r_h by which each head divides.

        Returns:
            Ratios as float64, (heads,).
        """
        return 8.0 * np.arange(1, self.heads + 1) / self.heads

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib = query.lib
        if _consecutive_keys(query, key):
            total = self._of_one_query(query, key)
        else:
            # cos((m - n)ω) = cos mω·cos nω + sin mω·sin nω: no sinusoid is made for a pair of positions.
            total = lib.contracted(self._cos_sin(query), self._cos_sin(key))
        ratios = lib.constant(_ratios(self), total.dtype)[head]
        return lib.astype(lib.astype(total / ratios, lib.wide_dtype(dtype)), dtype)

    def _of_one_query(self, query: Positions, key: Positions) -> Array:
        """Σ_i cos((m - n)·ω_i) of one query and consecutive keys, (…, 1, m), from sinusoids of about 2√m positions.

        Every √m-th key meets √m copies of the query, each a step further back, which stand for the keys in between.
        """
        lib, count = query.lib, key.array.shape[-1]
        size = math.isqrt(count - 1) + 1
        of_steps = self._cos_sin(checked(lib.signed(query.array) - lib.arange(size)))
        of_blocks = self._cos_sin(key.part((..., slice(None, None, size))))
        sums = lib.product(of_blocks, of_steps.swapaxes(-1, -2))
        return sums.reshape((*sums.shape[:-2], sums.shape[-2] * size))[..., :count]

    def _cos_sin(self, positions: Positions) -> Array:
        """Cosines and sines of every position, exact and in the widest float; shape (*positions, dim)."""
        lib = positions.lib
        return lib.xp.concatenate(cos_sin(positions, self.frequencies, lib.real), -1)


def _consecutive_keys(query: Positions, key: Positions) -> bool:
    """Whether one query, (…, 1, 1), meets many keys, (…, 1, m), at readable consecutive integer positions."""
    lib, shape = key.lib, tuple(key.array.shape)
    if tuple(query.array.shape[-2:]) != (1, 1) or len(shape) < 2 or shape[-1] < FEWEST or max(shape[:-1]) > 1:
        return False
    if not query.integers or not key.integers or query.bounds is None or not lib.concrete(key.array):
        return False
    places = lib.signed(key.array)
    return abs(query.bounds[0]) < LARGEST_NARROW_POSITION // 2 and bool((places[..., 1:] - places[..., :-1] == 1).all())


@arrays.host
def _ratios(encoding: Sandwich) -> np.ndarray:
    return encoding.ratios()


ROW = Row(
    Sandwich,
    (Sandwich(heads=8), Sandwich(heads=3, dim=6, base=100.0)),
    "Chi et al. 2022, arXiv:2212.10356",
    ("generate_sandwich_bias (attention-gym)",),
    "For decoders that must run longer than they were trained, without parameters and bounded.",
)
