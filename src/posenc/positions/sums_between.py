"""Sums and filters over keys in order, and the gates that are summed."""

from __future__ import annotations

from posenc.core import arrays, validation
from posenc.core.arrays import Array, Library
from posenc.positions.ordered_keys import OrderedKeys


def sums_upto(sums: Array, count: Array, lib: Library) -> Array:
    """Pick from cumulative sums over ordered keys the sum of the first `count` keys; 0 for count 0.

    Args:
        sums: Cumulative sums, (*batch, heads, m, channels).
        count: Number of keys, (*batch, n).
        lib: Library of both.

    Returns:
        (*batch, heads, n, channels).

    Example:
        >>> import numpy as np
        >>> sums_upto(np.array([[[1.0], [3.0]]]), np.array([0, 2]), arrays.library(np.ones(1))).tolist()
        [[[0.0], [3.0]]]
    """
    if validation.equals_one_of(sums.shape[-2], 0):  # a column of none, since there is no key to pick
        sums = lib.xp.zeros_like(sums.sum(-2))[..., None, :]
    columns = sums.swapaxes(-1, -2)
    index = lib.xp.broadcast_to(count[..., None, None, :], (*columns.shape[:-1], count.shape[-1]))
    some = lib.take_along(columns, lib.xp.clip(index - 1, 0, None))
    return lib.xp.where(index > 0, some, lib.xp.zeros_like(some)).swapaxes(-1, -2)


def over_keys(x: Array, keys: OrderedKeys, taps: Array) -> Array:
    """Filter over ordered keys: the last tap reads the key itself, earlier taps the keys before it in its document.

    Args:
        x: (*batch, heads, m, channels).
        keys: Keys in order.
        taps: (heads, channels, number of taps).

    Returns:
        Array of the shape of x.

    Example:
        >>> import numpy as np
        >>> from posenc.positions.ordered_keys import ordered
        >>> over_keys(np.array([[[10.0], [1.0]]]), ordered([3, 7]), np.array([[[0.5, 1.0]]])).tolist()
        [[[10.0], [6.0]]]
    """
    xp, last = keys.key.lib.xp, taps.shape[-1] - 1
    total = x * taps[:, None, :, last]
    for step in range(1, last + 1):
        there = keys.same_document(step)[..., None, :, None]
        before = xp.where(there, xp.roll(x, step, -2), xp.zeros_like(x))
        total = total + before * taps[:, None, :, last - step]
    return total


def log_sigmoid(x: Array) -> Array:
    """Logarithm of the sigmoid, ln σ(x), which neither overflows nor loses its small values.

    Example:
        >>> import numpy as np
        >>> log_sigmoid(np.array([-1000.0, 0.0])).round(4).tolist()
        [-1000.0, -0.6931]
    """
    return arrays.library(x).log_sigmoid(x)


def sigmoid(x: Array) -> Array:
    """Sigmoid 1 / (1 + e^-x), which does not overflow.

    Example:
        >>> import numpy as np
        >>> sigmoid(np.array([-1000.0, 0.0])).tolist()
        [0.0, 0.5]
    """
    return arrays.library(x).sigmoid(x)
