"""Positions that a module is given, or those of a whole sequence where nothing else can be meant."""

from __future__ import annotations

from typing import Any

import torch

from posenc.core.arrays import Array
from posenc.core.doors import Encoding
from posenc.torch.modules.encoding_module import on_same_device


def counted(name: str, positions: Array | None, x: Array, axis: int, encoding: Encoding) -> Array:
    """Positions as a tensor on the device of x; for None 0 to n - 1, n the length of x on an axis.

    One token may stand anywhere, and a grid may have any shape: there they must be given.
    """
    if positions is not None:
        return on_same_device(name, positions, x)
    if encoding.axes > 1:
        raise ValueError(
            f"{name} must be given for {type(encoding).__name__}, whose positions have {encoding.axes} coordinates; got "
            "None. Give those of your grid: torch.from_numpy(posenc.positions.grid(height, width)), say."
        )
    length = x.shape[axis] if x.ndim > 1 else 0
    if length == 1:
        raise ValueError(
            f"{name} must be given for a single token, which may stand anywhere; got None. Give torch.tensor([n]) "
            "when n tokens are in the cache."
        )
    return torch.arange(length, device=x.device)


def both_counted(
    query_positions: Array | None, key_positions: Array | None, q: Array, k: Array, axis: int, encoding: Encoding
) -> tuple[Any, Any]:
    """Positions of queries and of keys; where neither is given, both count from 0 if they are as many."""
    if (query_positions is None) != (key_positions is None):
        missing = "query_positions" if query_positions is None else "key_positions"
        raise TypeError(
            f"{missing} must be given where the other positions are; got None. Where they are the same, give them "
            "twice: module(q, k, positions, positions, …)."
        )
    if query_positions is None and q.ndim > 1 and q.shape[axis] != k.shape[axis]:
        raise ValueError(
            f"query_positions must be given where queries and keys differ in number; got None for {q.shape[axis]} "
            f"queries and {k.shape[axis]} keys. Give the positions of both, torch.arange({k.shape[axis]}) for keys, "
            "say."
        )
    query = counted("query_positions", query_positions, q, axis, encoding)
    return query, query if key_positions is None else on_same_device("key_positions", key_positions, q)
