"""Exponentials of matrices: where a position meets a generator that is more than a frequency."""

from __future__ import annotations

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array

#: The largest row sum of magnitudes that is exponentiated: a generator rotates by no more radians.
LARGEST_TURN = 2.0**16
#: How often the exponential of a 2^18th part is squared, and the terms of its series: 4^-14 / 14! is below 2^-64.
SQUARINGS = 18
TERMS = 13


def exponential(matrix: Array, name: str = "positions", advice: str = "Scale positions down, to [0, 1] say.") -> Array:
    """Exponential of square matrices, exp(M), made of products alone, so with gradients.

    The series carries exp(M) - 1, so that small angles lose nothing: the error is some d·|M| units of the last place,
    which is what rounding M itself costs.

    Args:
        matrix: (..., d, d), floats. Row sums above 2^16 that cannot be read give NaN.
        name: Name of the argument, for the message.
        advice: End of the message.

    Returns:
        (..., d, d), in the dtype of `matrix`.

    Raises:
        ValueError: A row sum of magnitudes is above 2^16.
    """
    lib = arrays.library(matrix)
    xp = lib.xp
    size = xp.amax(xp.abs(lib.detach(matrix)).sum(-1), -1)
    ends = lib.extremes(size)
    if ends is not None and not ends[1] <= LARGEST_TURN:
        raise ValueError(
            f"{name} must rotate by at most {LARGEST_TURN:.0f} radians; got about {ends[1]:.0f} with these generators. "
            f"{advice}"
        )
    fits = (size <= LARGEST_TURN)[..., None, None]
    part = xp.where(fits, matrix, float("nan")) * 2.0**-SQUARINGS
    less = part
    for term in range(TERMS, 1, -1):
        less = part + lib.product(part, less) / term
    for _ in range(SQUARINGS):
        less = 2.0 * less + lib.product(less, less)
    return less + lib.constant(np.eye(matrix.shape[-1]), matrix.dtype)
