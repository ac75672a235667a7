"""Checks of tensors and positions that the PyTorch modules and functions are given."""

from __future__ import annotations

from typing import Any

import torch

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import checked
from posenc.core.doors import Encoding
from posenc.core.rotation import Layout


def plain_tensor(name: str, value: Any) -> Any:
    """Return a dense PyTorch tensor on one device; refuse nested, sparse and distributed ones."""
    if type(value) is torch.Tensor and value.layout is torch.strided and not value.is_nested:
        return value
    return arrays.whole_array(name, validation.instance(name, value, torch.Tensor, "a PyTorch tensor"))


def check_alike(**tensors: Any) -> None:
    """Refuse anything but dense tensors of floats, of the dtype and device of the first."""
    first, x = next(iter(tensors.items()))
    for name, other in tensors.items():
        plain_tensor(name, other)
        if other is x:
            arrays.floats(first, x)
        elif other.dtype != x.dtype or other.device != x.device:
            raise ValueError(
                f"{name} must have the dtype and device of {first}, {arrays.dtype_name(x.dtype)} on {x.device}; got "
                f"{arrays.dtype_name(other.dtype)} on {other.device}. Convert it."
            )


def on_same_device(name: str, positions: Any, like: Array) -> Array:
    """Positions as a tensor on the device of `like`; a tensor elsewhere is an error, not a silent copy."""
    if type(positions) is not torch.Tensor or positions.layout is not torch.strided or positions.is_nested:
        positions = arrays.as_array(name, positions, like)
        if arrays.library_name(positions) != "torch":
            positions = arrays.library(like).constant(positions)
    if positions.device != like.device:
        raise ValueError(
            f"{name} must be on the device of the other arguments, {like.device}; got {positions.device}. "
            "Move it there."
        )
    return positions


def counted(name: str, positions: Array | None, x: Array, axis: int, encoding: Encoding) -> Array:
    """Positions as a tensor on the device of x; for None 0 to n - 1, n the length of x on an axis.

    One token may stand anywhere, and a grid may have any shape: there they must be given.
    """
    if positions is not None:
        return on_same_device(name, positions, x)
    if encoding.axes > 1:
        raise ValueError(
            f"{name} must be given for {type(encoding).__name__}, whose positions have {encoding.axes} coordinates; "
            "got None. Give those of your grid: torch.from_numpy(posenc.positions.grid(height, width)), say."
        )
    length = x.shape[axis] if x.ndim > 1 else 0
    if length == 1:
        raise ValueError(
            f"{name} must be given for a single token, which may stand anywhere; got None. Give torch.tensor([n]) "
            "when n tokens are in the cache."
        )
    arrays.library(x).check_size("x", length, torch.float64, x)
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
    if query_positions is None:
        if q.ndim > 1 and q.shape[axis] != k.shape[axis]:
            raise ValueError(
                f"query_positions must be given where queries and keys differ in number; got None for {q.shape[axis]} "
                f"queries and {k.shape[axis]} keys. Give the positions of both, torch.arange({k.shape[axis]}) for "
                "keys, say."
            )
        query = counted("query_positions", None, q, axis, encoding)
        return query, query
    query = on_same_device("query_positions", query_positions, q)
    return query, query if key_positions is query_positions else on_same_device("key_positions", key_positions, q)


def check_width(name: str, x: Any, dim: int, layout: Layout) -> None:
    """Refuse anything but a tensor of four axes whose last has `dim` channels, a whole head."""
    if plain_tensor(name, x).ndim != 4 or x.shape[-1] != dim:
        raise ValueError(
            f"{name} must have shape {layout!r} with d = {dim}; got {tuple(x.shape)}. Give whole heads, four axes."
        )


def check_batch(name: str, x: Any, of: str, like: Any) -> None:
    """Refuse a tensor whose first axis, the batch, is not that of the argument `of`."""
    if x.shape[0] != like.shape[0]:
        raise ValueError(
            f"{name} must have the batch of {of}, {like.shape[0]}; got {x.shape[0]}. Give both for the same sequences."
        )


def check_heads(q: Any, k: Any, dim: int, layout: Layout) -> None:
    """Refuse q and k unless both have whole heads and one batch, and key heads divide query heads."""
    check_width("q", q, dim, layout)
    check_width("k", k, dim, layout)
    check_batch("k", k, "q", q)
    axis = layout.index("h")
    if not k.shape[axis] or q.shape[axis] % k.shape[axis]:
        raise ValueError(
            f"k must have a number of heads that divides those of q, {q.shape[axis]}; got {k.shape[axis]} in "
            f"{tuple(k.shape)} ({layout}). Check the layout and the groups."
        )


def check_token_positions(
    name: str, x: Any, positions_name: str, positions: Any, layout: Layout, encoding: Encoding
) -> None:
    """Refuse positions that are not one for each token of x, in one row for the batch or in a row each."""
    if positions.dtype is not torch.int64:  # whose values are checked where they are used
        checked(positions, positions_name)
    axes, shape = encoding.axes, tuple(positions.shape)
    row = (x.shape[layout.index("t")],) if axes == 1 else (x.shape[layout.index("t")], axes)
    if not (shape == row or shape == (1, *row) or shape == (x.shape[0], *row)):
        raise ValueError(
            f"{positions_name} must have shape {row} or {(x.shape[0], *row)}, a position for each token of {name} "
            f"({layout}); got {shape}. Give the positions of these tokens."
        )
