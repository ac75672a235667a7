"""Positions of the host, checked before JAX converts them."""

from __future__ import annotations

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.arrays.jax_library import Jax
from posenc.core.checked_positions import checked


def as_positions(positions: Array) -> Array:
    """Positions as a JAX array, for an argument of a compiled function.

    `jax.jit` converts a NumPy argument before the function sees it, and without `jax_enable_x64` cuts a whole number to
    32 bits, silently. Here such a number is still seen: positions of 2^31 or more, and floats that float32 does not
    hold, raise ValueError.

    Example:
        >>> import numpy as np
        >>> as_positions(np.arange(3)).dtype
        dtype('int32')
    """
    return checked(arrays.as_array("positions", positions, Jax())).array
