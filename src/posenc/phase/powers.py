"""Decay and growth with position: powers of two, exact far out."""

from __future__ import annotations

import math

from posenc import _array
from posenc._array import Array
from posenc.phase.fixed_point import phase, turn_rates
from posenc.phase.frequencies import Frequencies


def power_of_two(positions: Array, rates: Frequencies) -> Array:
    """2^(p·f) for every position p and every rate f, given as frequencies of f turns a step; shape (*batch, n, pairs).

    In the widest float, good to 4 ulp: the fraction of the exponent is the exact fraction of a turn, so a large exponent
    loses nothing. Positions as for `phase`; exponents beyond the float's range give infinity or zero.
    """
    quarter, rest = phase(positions, rates).quarters()
    xp, turns = _array.namespace(rest), _array.constant(turn_rates(rates), rest, rest.dtype)
    fraction = _array.astype(quarter, rest.dtype) / 4 + rest
    steps = _array.astype(positions, rest.dtype)[..., None]
    whole = xp.round(_array.detach(steps * turns - fraction))
    if _array.kind(positions) == "float" and _array.library(positions) != "numpy":
        fraction = fraction + (steps - _array.detach(steps)) * turns  # the slope, which fixed point does not carry
    return _array.times_power_of_two(xp.exp(fraction * math.log(2)), whole)
