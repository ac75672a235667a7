"""Where the two waves of each pair stand in a row."""

from __future__ import annotations

from typing import Literal

from posenc import _array
from posenc._array import Array

Layout = Literal["interleaved", "concatenated"]
LAYOUTS = ("interleaved", "concatenated")


def arranged(first: Array, second: Array, pairs: int, layout: str) -> Array:
    """Waves (..., pairs) side by side pair for pair, or all of the first and then all of the second; (..., 2·pairs).

    >>> import numpy as np
    >>> arranged(np.array([1, 2]), np.array([3, 4]), 2, "interleaved").tolist()
    [1, 3, 2, 4]
    """
    xp = _array.namespace(first, second)
    # The same shape, with a width that torch.compile knows: it takes that of a host constant for an open one.
    first, second = (wave.reshape((*wave.shape[:-1], pairs)) for wave in (first, second))
    if layout == "concatenated":
        return xp.concatenate([first, second], -1)
    return xp.stack([first, second], -1).reshape((*first.shape[:-1], 2 * pairs))
