"""Divisors of frequencies, small tensors of GGUF files, as scalings of posenc, and scalings as divisors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from posenc.core import validation
from posenc.frequencies import Geometric, Llama3, LongRoPE, Proportional, Rescaled, Scaling
from posenc.phase.frequencies import EXACT

#: How far float32 divisors of a file may be from those of a formula: their blend is formed from wavelengths in float32.
TOLERANCE = 1e-4
#: The divisor by which llama.cpp's converter lets a pair stand still (conversion/gemma.py, Gemma 4).
STANDS_STILL = 1e30


def shortest_in_float32(value: float, in_file: Callable[[float], float]) -> float:
    """Return the number of fewest digits whose `in_file` value rounds to the same float32 as that of `value`.

    Example:
        >>> shortest_in_float32(1.0000000497729746, lambda value: value / 1.1386294361119891)
        1.0
    """
    shorter = (float(f"{value:.{digits}g}") for digits in range(1, 17))
    return next((one for one in shorter if np.float32(in_file(one)) == np.float32(in_file(value))), value)


def recovered_scaling(divisors: tuple[float, ...], base: float, length: int) -> Scaling:
    """Recover the scaling from frequency divisors: Proportional, a published Llama 3 scaling, or a LongRoPE list."""
    if max(divisors) >= STANDS_STILL:
        return _proportional(divisors)
    for high in (4.0, 1.0):
        scaling = Llama3(factor=max(divisors), original=8192, low=1.0, high=high) if max(divisors) >= 1.0 else None
        if scaling and np.allclose(divisors, divisors_of(scaling, 2 * len(divisors), base), rtol=TOLERANCE, atol=0.0):
            return scaling
    return LongRoPE(divisors, divisors, max(length, 2), max(length, 2), 1.0)


def _proportional(divisors: tuple[float, ...]) -> Proportional:
    """Return the Proportional scaling with these divisors: slowest pairs stand still, others are slowed alike."""
    rotating = sum(divisor < STANDS_STILL for divisor in divisors)
    if not rotating or len({*divisors[:rotating]}) > 1 or min(divisors[rotating:]) < STANDS_STILL:
        raise ValueError(
            "rope_freqs.weight must let the slowest pairs alone stand still, and slow the others alike, if its largest "
            f"divisor is {STANDS_STILL:g} or more; got {validation.shown(divisors)}. Look at the file."
        )
    share, factor = rotating / len(divisors), shortest_in_float32(divisors[0], lambda factor: factor)
    found = Proportional(share, factor)
    whole = found.rotating(Geometric(2 * len(divisors))) == rotating
    return found if whole else replace(found, fraction=math.nextafter(share, 1.0))


def divisors_of(scaling: Scaling, dim: int, base: float) -> tuple[float, ...]:
    """Return the divisor of each frequency; STANDS_STILL where a pair does not rotate."""
    plain_frequencies = Geometric(dim, base)
    pairs = zip(plain_frequencies.exact(), Rescaled(plain_frequencies, scaling).exact(), strict=True)
    return tuple(float(EXACT.divide(before, after)) if after else STANDS_STILL for before, after in pairs)
