"""The distance between two places."""

from __future__ import annotations

from posenc import _array
from posenc._array import Array
from posenc.phase import checked


def difference(query: Array, key: Array, like: Array | None = None) -> Array:
    """key - query, exact for integers up to 2^53; query and key broadcast.

    >>> difference([5], [3, 5, 9]).tolist()
    [-2, 0, 4]
    """
    query, key = _array.as_arrays(query=query, key=key, like=like)
    _array.namespace(query, key)
    return _array.signed(checked(key, "key")) - _array.signed(checked(query, "query"))
