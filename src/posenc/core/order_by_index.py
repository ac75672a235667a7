"""Whether positions agree with a mask that goes by index: one rule for the three libraries."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions


def order_guard(query_positions: Positions, key_positions: Positions, rule: str) -> Array | None:
    """None where positions agree with a mask by index; ValueError where they contradict it.

    By index, the last query stands at the last key, so each query has a key of its own. Positions agree if no key up
    to a query's own has a greater position than the query, and every later key has one. A later key may share the
    query's position if its own key does too: among equal positions, indices decide.

    query_positions: (n,) or (batch, n) and key_positions: (m,) or (batch, m), of one coordinate.   rule: the argument that masks by index.
    Result where values cannot be read: 0.0, or NaN for each row that contradicts, (batch or 1, 1, 1, 1), to be added
    to the output.

    >>> from posenc.core.checked_positions import checked
    >>> order_guard(checked([5, 6]), checked(range(7)), "causal")
    >>> order_guard(checked([5, 6]), checked(range(10)), "causal")
    Traceback (most recent call last):
    ...
    ValueError: causal goes by index, the last query at the last key, and positions must agree with that; got query 0 \
at position 5, which would see key 8 at position 8. Give documents= where a row holds several, or leave causal out \
and give mask=, True where a query may see a key.
    """
    lib, here, there = query_positions.lib, query_positions.array, key_positions.array
    if 0 in here.shape or 0 in there.shape:
        return None
    if (
        here.shape[-1] == 1
        and query_positions.bounds
        and key_positions.bounds
        and key_positions.bounds[1] <= query_positions.bounds[0]
    ):
        return None  # a step of decoding, of which everything is known already
    here, there = lib.signed(here), lib.signed(there)
    wrong = _contradicts(here, there, lib)
    if not lib.concrete(wrong):
        return lib.xp.where(wrong, float("nan"), 0.0).reshape((-1, 1, 1, 1))
    if wrong.any():
        at, to = (np.atleast_2d(np.asarray(lib.detach(x))) for x in (here, there))
        _refuse(at, to, int(np.argmax(np.asarray(wrong))), rule)
    return None


def _contradicts(query_positions: Any, key_positions: Any, lib: Library) -> Any:
    """True for each row that contradicts.

    Only neighbours are compared: where they agree, keys rise from the first query's own one on.
    """
    ahead = key_positions.shape[-1] - query_positions.shape[-1]
    if ahead < 0:  # as a window allows: its first queries stand before all keys
        wrong = (query_positions[..., :-ahead] >= key_positions[..., :1]).any(-1)
        query_positions, ahead = query_positions[..., -ahead:], 0
    else:
        wrong = (key_positions[..., : ahead + 1] > query_positions[..., :1]).any(-1)
    own = key_positions[..., ahead:]
    before, following = query_positions[..., :-1], own[..., 1:]
    hidden = lib.xp.where(own[..., :-1] == before, following < before, following <= before)
    return wrong | (own > query_positions).any(-1) | hidden.any(-1)


def _refuse(query_positions: np.ndarray, key_positions: np.ndarray, row: int, rule: str) -> NoReturn:
    """The error that names the first query of that row which would see a key too many or too few."""
    here, there = query_positions[row % len(query_positions)], key_positions[row % len(key_positions)]
    visible = np.maximum(np.arange(len(here)) + 1 + len(there) - len(here), 0)  # keys up to its own
    highest = np.append(-np.inf, np.maximum.accumulate(there))[visible]
    lowest = np.append(np.minimum.accumulate(there[::-1])[::-1], np.inf)[visible]
    shared = np.append(np.nan, there)[visible] == here
    many, few = highest > here, (lowest < here) | ((lowest == here) & ~shared)
    index = int(np.argmax(many | few))
    count = visible[index]
    other = int(np.argmax(there[:count]) if many[index] else count + np.argmin(there[count:]))
    raise ValueError(
        f"{rule} goes by index, the last query at the last key, and positions must agree with that; got query {index} "
        f"at position {here[index]}, which would {'' if many[index] else 'not '}see key {other} at position "
        f"{there[other]}. Give documents= where a row holds several, or leave {rule} out and give mask=, True where a "
        "query may see a key."
    )
