"""What lies between two places: gates of the keys from one to the other, added up by position and not by index."""

from __future__ import annotations

from posenc import _array
from posenc._array import Array
from posenc.checked_positions import Positions, checked, checked_pair
from posenc.positions.distance import difference


def reached(query: Array | Positions, key: Array | Positions) -> Array:
    """Which keys do not lie behind the query: position of key ≤ position of query, (*batch, n, m).

    >>> import numpy as np
    >>> reached(np.array([1, 5]), np.array([0, 1, 2])).tolist()
    [[True, True, False], [True, True, True]]
    """
    return _pairwise(query, key) <= 0


def _pairwise(query: Array | Positions, key: Array | Positions) -> Array:
    """key - query for every pair, (*batch, n, m)."""
    query, key = checked_pair(query, key)
    return difference(query.part((..., slice(None), None)), key.part((..., None, slice(None))))


def spoiled(positions: Positions) -> Array:
    """0.0 for each sequence, or NaN where a position of it is out of range and could not be read; shape (*batch, 1)."""
    return positions.guard().sum(-1)[..., None]


def from_last(gates: Array, key: Array | Positions) -> Array:
    """For every key the gates of all keys at its position or after it, added up.

    gates: (*batch, heads, n, m); key: positions, (m,) or (*batch, m), in any order, equal ones counted together.

    >>> import numpy as np
    >>> from_last(np.array([[[1.0, 2.0, 4.0]]]), np.array([5, 0, 1])).tolist()
    [[[1.0, 7.0, 5.0]]]
    """
    positions = checked(key, "key", like=gates)
    lib, xp = positions.lib, positions.lib.xp
    key = lib.signed(positions.array)
    order = xp.argsort(-key, -1)[..., None, None, :]
    sums = xp.cumsum(lib.take_along(gates, xp.broadcast_to(order, gates.shape)), -1)
    # How many keys come before the sum that ends with the last key of this position.
    last = (key[..., None, :] >= key[..., :, None]).sum(-1)[..., None, None, :] - 1
    return lib.take_along(sums, xp.broadcast_to(lib.astype(last, order.dtype), gates.shape))


def shared(key: Array | Positions) -> Array:
    """1 / (how many keys stand at the same position), in the widest float; (*batch, m).

    >>> import numpy as np
    >>> shared(np.array([3, 1, 3])).tolist()
    [0.5, 1.0, 0.5]
    """
    key = checked(key, "key")
    return 1.0 / key.lib.widest((_pairwise(key, key) == 0).sum(-1))


def ranks(key: Array | Positions) -> Array:
    """How many positions come before that of each key, equal ones counted once; whole numbers, (*batch, m).

    >>> import numpy as np
    >>> ranks(np.array([30, 10, 30, 20])).tolist()
    [2, 0, 2, 1]
    """
    key = checked(key, "key")
    lib, share = key.lib, shared(key)
    counted = (lib.astype(_pairwise(key, key) < 0, share.dtype) * share[..., None, :]).sum(-1)
    return lib.astype(lib.xp.round(counted), lib.integer)


def over_keys(x: Array, key: Array | Positions, taps: Array) -> Array:
    """A filter over the keys in their order: each reads itself by the last tap, the key before by the one before, and so on.

    x: (*batch, heads, m, channels); key: positions, (m,) or (*batch, m); those of one position count as their mean.
    taps: (heads, channels, how many). Result as x.

    >>> import numpy as np
    >>> over_keys(np.array([[[1.0], [10.0]]]), np.array([7, 3]), np.array([[[0.5, 1.0]]])).tolist()
    [[[6.0], [10.0]]]
    """
    key = checked(key, "key", like=x)
    lib, last = key.lib, taps.shape[-1] - 1
    rank, share = ranks(key), lib.astype(shared(key), x.dtype)[..., None, :]
    back = rank[..., :, None] - rank[..., None, :]
    total = x * taps[:, None, :, last]
    for step in range(1, last + 1):
        weights = (lib.astype(back == step, x.dtype) * share)[..., None, :, :]
        total = total + (weights @ x) * taps[:, None, :, last - step]
    return total


def log_sigmoid(x: Array) -> Array:
    """ln σ(x), which neither overflows nor loses its small values.

    >>> import numpy as np
    >>> log_sigmoid(np.array([-1000.0, 0.0])).round(4).tolist()
    [-1000.0, -0.6931]
    """
    xp = _array.library(x).xp
    size = xp.abs(x)
    return (x - size) / 2 - xp.log1p(xp.exp(-size))


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x), which does not overflow.

    >>> import numpy as np
    >>> sigmoid(np.array([-1000.0, 0.0])).tolist()
    [0.0, 0.5]
    """
    return (_array.library(x).xp.tanh(x / 2) + 1) / 2
