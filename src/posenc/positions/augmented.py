"""Augmented positions: shifted, jittered and scaled at random, as real numbers."""

from __future__ import annotations

import math

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import checked
from posenc.positions.draws import generator, outside


def augmented(
    positions: Array, rng: np.random.Generator, *, shift: float = 0.0, jitter: float = 0.0, scale: float = 1.0
) -> Array:
    """λ·(p + Δ + ε_p) for every position p: one shift Δ and one scale λ a row, one jitter ε_p a token.

    Likhomanenko et al. 2021, arXiv:2106.03143 (CAPE): Δ uniform in [-shift, shift], ε_p uniform in [-jitter, jitter],
    ln λ uniform in [-ln scale, ln scale]; in training alone. With jitter at most half a step the order is kept.

    Positions (*batch, n) of any library; result the same shape, in the widest float.

    Raises:
        ValueError: A value breaks its rule; the message names the argument; a traced program is refused, which would
            repeat one draw for ever.
        TypeError: A value breaks its rule; the message names the argument; a traced program is refused, which would
            repeat one draw for ever.

    Example:
        >>> augmented([0, 1, 2], np.random.default_rng(0), shift=5.0, jitter=0.5, scale=1.03).round(3)
        array([1.161, 1.946, 2.94 ])
    """
    positions = outside(positions)
    array, lib = positions.array, positions.lib
    shift = validation.real("shift", shift, 0.0, 1e12)
    jitter = validation.real("jitter", jitter, 0.0, 1e12)
    scale = validation.real("scale", scale, 1.0, 1e6)
    generator(rng)
    rows = (*array.shape[:-1], 1)
    moved = rng.uniform(-shift, shift, rows) + rng.uniform(-jitter, jitter, tuple(array.shape))
    stretched = np.exp(rng.uniform(-math.log(scale), math.log(scale), rows))
    delta, factor = (lib.constant(drawn, lib.real) for drawn in (moved, stretched))
    return checked((lib.widest(array) + delta) * factor).array
