"""Channel order of sine-cosine pairs: interleaved or concatenated."""

from __future__ import annotations

from typing import Literal

from posenc.core.arrays import Array, Library

Layout = Literal["interleaved", "concatenated"]


def arranged(first: Array, second: Array, pairs: int, layout: str, lib: Library) -> Array:
    """Join two waves (..., pairs) into (..., 2·pairs): "interleaved", or "concatenated" (first, then second).

    Example:
        >>> import numpy as np
        >>> from posenc.core.arrays import library
        >>> first, second = np.array([1, 2]), np.array([3, 4])
        >>> arranged(first, second, 2, "interleaved", library(first)).tolist()
        [1, 3, 2, 4]
    """
    table = lib.xp.concatenate([first, second], -1) if layout == "concatenated" else lib.paired(first, second)
    # The width is stated, since torch.compile takes that of a host constant for an open one.
    return table.reshape((*first.shape[:-1], 2 * pairs))
