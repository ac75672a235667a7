"""Decay and growth with position: powers of two, exact far out."""

from __future__ import annotations

import math

from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.phase.fixed_point import phase_of, revolutions_per_step
from posenc.phase.frequencies import Frequencies


def power_of_two(positions: Positions, per_step: Frequencies) -> Array:
    """Power 2^(p·f) of every position p and every rate f, good to 4 ulp.

    The fraction of the exponent is the exact fraction of a revolution, so a large exponent loses nothing; exponents
    beyond the float's range give infinity or zero.

    Args:
        positions: Positions (*batch, n), checked.
        per_step: Rates f, as frequencies of f revolutions a step.

    Returns:
        (*batch, n, pairs), in the widest float.
    """
    lib = positions.lib
    quarter, rest = phase_of(positions, per_step).quarters()
    revolutions = lib.constant(revolutions_per_step(per_step), rest.dtype)
    fraction = (quarter % 4.0 + rest) / 4
    steps = lib.widest(positions.array)[..., None]
    whole = lib.xp.round(lib.detach(steps * revolutions - fraction))
    if lib.name != "numpy" and not positions.integers:
        fraction = fraction + (steps - lib.detach(steps)) * revolutions  # the slope, which fixed point does not carry
    return lib.times_power_of_two(lib.xp.exp(fraction * math.log(2)), whole)
