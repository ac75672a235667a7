"""What lies between two places: gates of the keys from one to the other, added up by position and not by index."""

from __future__ import annotations

from typing import Any

from posenc import _array
from posenc._array import Array
from posenc.checked_positions import Positions, checked, checked_pair
from posenc.positions.distance import difference


def reached(query: Array | Positions, key: Array | Positions) -> Array:
    """Which keys do not lie behind the query: position of key ≤ position of query, in one document; (*batch, n, m).

    >>> import numpy as np
    >>> reached(np.array([1, 5]), np.array([0, 1, 2])).tolist()
    [[True, True, False], [True, True, True]]
    """
    query, key = checked_pair(query, key)
    return _together(query, key, _pairwise(query, key) <= 0)


def ahead(query: Array | Positions, key: Array | Positions) -> Array:
    """Which keys lie behind the query: position of key > position of query, in one document; (*batch, n, m).

    >>> import numpy as np
    >>> ahead(np.array([1, 5]), np.array([0, 1, 2])).tolist()
    [[False, False, True], [False, False, False]]
    """
    query, key = checked_pair(query, key)
    return _together(query, key, _pairwise(query, key) > 0)


def _pairwise(query: Positions, key: Positions) -> Array:
    """key - query for every pair, (*batch, n, m)."""
    return difference(query.part((..., slice(None), None)), key.part((..., None, slice(None))))


def _together(query: Positions, key: Positions, pairs: Array) -> Array:
    """The pairs whose query and key are of one document."""
    if query.documents is None or key.documents is None:
        return pairs
    return pairs & (query.documents[..., :, None] == key.documents[..., None, :])


def each_once(query: Positions, key: Positions, dtype: Any) -> Array:
    """0.0 for each query, (*batch, n), where its position and those of all keys are in range and no document holds a
    key's position twice; ValueError for a position that can be read and occurs twice, NaN where it cannot be read.

    >>> from posenc.checked_positions import checked
    >>> each_once(checked([5]), checked([0, 1, 2]), "float32").tolist()
    [0.0]
    """
    lib, xp = key.lib, key.lib.xp
    positions, repeated = _repeated(key)
    guard = key.guard().sum(-1)[..., None]
    if not lib.concrete(repeated):  # in JAX what is made of numbers that can be read may still be traced
        guard = xp.where(repeated.any(-1)[..., None], xp.full_like(guard, float("nan")), guard)
    elif repeated.any().item():
        position = xp.broadcast_to(positions, repeated.shape)[repeated].reshape(-1)[0].item()
        raise ValueError(
            f"key must hold each position once, since this score reads the keys in between; got {position} twice. "
            "Number padding behind the tokens, as posenc.positions.from_mask does, and say which documents are "
            "packed: documents=(of queries, of keys)."
        )
    return lib.astype(query.guard() + guard, dtype)


def _repeated(key: Positions) -> tuple[Array, Array]:
    """Positions of keys in some order, and which of them another key of the document has too."""
    lib = key.lib
    if key.documents is not None:
        return key.array, _together(key, key, _pairwise(key, key) == 0).sum(-1) > 1
    keys = lib.signed(key.array)
    ordered = lib.take_along(keys, lib.xp.argsort(keys, -1))
    return ordered[..., 1:], ordered[..., 1:] == ordered[..., :-1]


def from_last(gates: Array, key: Array | Positions) -> Array:
    """For every key the gates of all keys at its position or after it, added up.

    gates: (*batch, heads, n, m); key: positions, (m,) or (*batch, m), in any order, equal ones counted together: of
    other documents the gates must be zero.

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


def ranks(key: Array | Positions) -> Array:
    """How many keys of its document come before each key; whole numbers, (*batch, m).

    >>> import numpy as np
    >>> ranks(np.array([30, 10, 40, 20])).tolist()
    [2, 0, 3, 1]
    """
    key = checked(key, "key")
    return key.lib.astype(ahead(key, key).sum(-2), key.lib.integer)


def over_keys(x: Array, key: Array | Positions, taps: Array) -> Array:
    """A filter over the keys of a document in their order: each reads itself by the last tap, the key before by the one
    before, and so on.

    x: (*batch, heads, m, channels); key: positions, (m,) or (*batch, m). taps: (heads, channels, how many).
    Result as x.

    >>> import numpy as np
    >>> over_keys(np.array([[[1.0], [10.0]]]), np.array([7, 3]), np.array([[[0.5, 1.0]]])).tolist()
    [[[6.0], [10.0]]]
    """
    key = checked(key, "key", like=x)
    lib, last, rank = key.lib, taps.shape[-1] - 1, ranks(key)
    back = rank[..., :, None] - rank[..., None, :]
    total = x * taps[:, None, :, last]
    for step in range(1, last + 1):
        before = lib.astype(_together(key, key, back == step), x.dtype)[..., None, :, :]
        total = total + (before @ x) * taps[:, None, :, last - step]
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
