"""What lies between two places: gates of the keys from one to the other, added up by position and not by index."""

from __future__ import annotations

from posenc import _array
from posenc._array import Array
from posenc.phase import guard
from posenc.positions.distance import difference


def reached(query: Array, key: Array) -> Array:
    """Which keys do not lie behind the query: position of key ≤ position of query, (*batch, n, m).

    >>> import numpy as np
    >>> reached(np.array([1, 5]), np.array([0, 1, 2])).tolist()
    [[True, True, False], [True, True, True]]
    """
    return difference(query[..., :, None], key[..., None, :]) <= 0


def spoiled(positions: Array) -> Array:
    """0.0 for each sequence, or NaN where a position of it is none and could not be seen; shape (*batch, 1)."""
    return guard(positions).sum(-1)[..., None]


def from_last(gates: Array, key: Array) -> Array:
    """For every key the gates of all keys at its position or after it, added up.

    gates: (*batch, heads, n, m); key: positions, (m,) or (*batch, m), in any order, equal ones counted together.

    >>> import numpy as np
    >>> from_last(np.array([[[1.0, 2.0, 4.0]]]), np.array([5, 0, 1])).tolist()
    [[[1.0, 7.0, 5.0]]]
    """
    xp, key = _array.namespace(gates, key), _array.signed(key)
    order = xp.argsort(-key, -1)[..., None, None, :]
    sums = xp.cumsum(_array.take_along(gates, xp.broadcast_to(order, gates.shape)), -1)
    # How many keys come before the sum that ends with the last key of this position.
    place = (key[..., None, :] >= key[..., :, None]).sum(-1)[..., None, None, :] - 1
    return _array.take_along(sums, xp.broadcast_to(_array.astype(place, order.dtype), gates.shape))


def shared(key: Array) -> Array:
    """1 / (how many keys stand at the same position), in the widest float; (*batch, m).

    >>> import numpy as np
    >>> shared(np.array([3, 1, 3])).tolist()
    [0.5, 1.0, 0.5]
    """
    same = difference(key[..., :, None], key[..., None, :]) == 0
    return 1.0 / _array.astype(same.sum(-1), _array.widest_dtype(key))


def ranks(key: Array) -> Array:
    """How many positions come before that of each key, equal ones counted once; whole numbers, (*batch, m).

    >>> import numpy as np
    >>> ranks(np.array([30, 10, 30, 20])).tolist()
    [2, 0, 2, 1]
    """
    share = shared(key)
    before = difference(key[..., :, None], key[..., None, :]) < 0
    counted = (_array.astype(before, share.dtype) * share[..., None, :]).sum(-1)
    return _array.signed(_array.astype(_array.namespace(counted).round(counted), _array.dtype_of("int32", counted)))


def over_keys(x: Array, key: Array, taps: Array) -> Array:
    """A filter over the keys in their order: each reads itself by the last tap, the key before by the one before, and so on.

    x: (*batch, heads, m, channels); key: positions, (m,) or (*batch, m); those of one position count as their mean.
    taps: (heads, channels, how many). Result as x.

    >>> import numpy as np
    >>> over_keys(np.array([[[1.0], [10.0]]]), np.array([7, 3]), np.array([[[0.5, 1.0]]])).tolist()
    [[[6.0], [10.0]]]
    """
    last = taps.shape[-1] - 1
    rank, share = ranks(key), _array.astype(shared(key), x.dtype)[..., None, :]
    back = rank[..., :, None] - rank[..., None, :]
    total = x * taps[:, None, :, last]
    for step in range(1, last + 1):
        weights = (_array.astype(back == step, x.dtype) * share)[..., None, :, :]
        total = total + (weights @ x) * taps[:, None, :, last - step]
    return total


def log_sigmoid(x: Array) -> Array:
    """ln σ(x), which neither overflows nor loses its small values.

    >>> import numpy as np
    >>> log_sigmoid(np.array([-1000.0, 0.0])).round(4).tolist()
    [-1000.0, -0.6931]
    """
    xp = _array.namespace(x)
    size = xp.abs(x)
    return (x - size) / 2 - xp.log1p(xp.exp(-size))


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x), which does not overflow.

    >>> import numpy as np
    >>> sigmoid(np.array([-1000.0, 0.0])).tolist()
    [0.0, 0.5]
    """
    return (_array.namespace(x).tanh(x / 2) + 1) / 2
