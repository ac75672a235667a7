"""A relative bias from one number a distance: a view for `scaled_dot_product_attention`, and no matrix."""

from __future__ import annotations

from typing import Any

import torch

from posenc import _array, _check
from posenc._array import Array
from posenc.doors import Biases, Params
from posenc.phase import checked
from posenc.torch.decode_bias import check_together, row_of_places

#: Pieces of the queries behind a causal view: more save little more, and each costs calls. None is smaller than SMALLEST.
PIECES, SMALLEST = 8, 64


def strided(
    record: Biases, query: Array, key: Array, params: Params | None = None, *, causal: bool = False, dtype: Any = None
) -> Any:
    """The bias of a record that claims "relative", for queries in reversed order, as a view of n + m - 1 numbers a head.

    The number of distance d stands once in memory, and row r of the view begins r numbers later: an `attn_mask` without a
    matrix. Strides cannot be negative, so the last query comes first; `strided_attention` turns queries and output over.

    query: (n,) or (batch, n) and key: (m,) or (batch, m), positions that rise by one from place to place, wherever they
    begin. params: what the record learns, None if nothing.   causal: keys after the query get -inf (by position, not by
    place).   dtype: float32 unless given; `scaled_dot_product_attention` wants that of the queries.
    Result: (1, heads, n, m) or (batch, heads, n, m); its numbers overlap in memory, so it is not to be written to.

    Raises TypeError or ValueError naming the argument; positions that cannot be seen (compiled, or on an accelerator) and
    do not rise by one give NaN.

    >>> import torch
    >>> from posenc import ALiBi
    >>> view = strided(ALiBi(heads=1, steepest=1.0), torch.tensor([4, 5]), torch.arange(3, 6))
    >>> view.tolist(), view.stride()  # the query at 5, then the query at 4
    ([[[[-1.0, -0.5, 0.0], [-0.5, 0.0, -0.5]]]], (4, 4, 1, 1))
    """
    _check.instance("record", record, Biases, "a record that biases")
    _check.one_axis("record", record)
    if "relative" not in record.claims:
        raise ValueError(
            f"record must claim 'relative', as its numbers must belong to distances; got {record!r}. Use posenc.torch.Bias."
        )
    _check.truth("causal", causal)
    query, key = _rising("query", query), _rising("key", key)
    check_together(query, key)
    if not _array.tracing(query) and 0 in (query.shape[-1], key.shape[-1]):
        empty = record.matrix(query, key, params, dtype=dtype)
        return empty if empty.ndim == 4 else empty[None]
    batch = torch.broadcast_shapes(query.shape[:-1], key.shape[:-1])
    there, here = _ends(query.expand(*batch, -1), key.expand(*batch, -1))
    head = torch.arange(record.heads, device=query.device)[:, None]
    numbers = record.bias(head, there[..., None, :], here[..., None, :], params, dtype=dtype)
    if causal:
        numbers = numbers.masked_fill((here > there)[..., None, :], float("-inf"))
    return _overlapping(numbers + (_guard(query) + _guard(key)).to(numbers.dtype), query.shape[-1], key.shape[-1])


def strided_attention(
    q: Any, k: Any, v: Any, view: Any, *, scale: float | None = None, grouped: bool = False, causal: bool = False
) -> Any:
    """softmax(scale·q·kᵀ + bias)·v by `scaled_dot_product_attention`, for a bias from `strided`.

    q: (batch, heads, n, d), k and v: (batch, key heads, m, d), in the order of their positions; view: what `strided` gives,
    in their dtype.   scale: 1/√d unless given.   grouped: whether k and v have fewer heads than q.
    causal: for a view made so, of queries that end where the keys end or before: eight pieces of the queries attend each to
    the keys that it may see, about half the work; compiled, all at once. ValueError where the view shows more; NaN where that
    cannot be seen (on an accelerator).

    >>> import torch
    >>> from posenc import ALiBi
    >>> q, k, v = torch.ones(3, 1, 2, 4, 8).unbind()
    >>> view = strided(ALiBi(heads=2), torch.arange(4), torch.arange(4), causal=True)
    >>> strided_attention(q, k, v, view, causal=True).shape
    torch.Size([1, 2, 4, 8])
    """
    attended = torch.nn.functional.scaled_dot_product_attention
    _check.truth("causal", causal)
    if not causal or _array.tracing(view):
        return attended(q.flip(-2), k, v, attn_mask=view, scale=scale, enable_gqa=grouped).flip(-2)
    queries, keys = q.shape[-2], k.shape[-2]
    q, size, parts = q.flip(-2), max(SMALLEST, -(-queries // PIECES)), []
    for start in range(0, queries, size):
        rows, seen = slice(start, start + size), slice(0, max(1, keys - start))
        near = k[..., seen, :], v[..., seen, :]
        parts.append(attended(q[..., rows, :], *near, attn_mask=view[..., rows, seen], scale=scale, enable_gqa=grouped))
    return (torch.cat(parts, -2).flip(-2) + _hidden(view).to(q.dtype)) if parts else q


def _hidden(view: Any) -> Any:
    """0.0 for a view that hides the last key from the query before the last, and so from query to query one key more."""
    zero = torch.zeros((), device=view.device)
    if view.shape[-2] < 2:
        return zero
    hides = torch.isneginf(view[..., 1, -1]).all()
    if not _array.concrete(hides):
        return torch.where(hides, zero, torch.full_like(zero, float("nan")))
    if not hides:
        raise ValueError(
            "view must hide from each query the keys behind it; got one that shows them. Make it with causal=True, of queries that "
            "end where the keys end or before, or leave causal out."
        )
    return zero


def _ends(query: Any, key: Any) -> tuple[Any, Any]:
    """Every distance once, from two positions that are there: the last query with all keys, then the last key with the rest."""
    step = torch.arange(query.shape[-1] + key.shape[-1] - 1, device=query.device) - (key.shape[-1] - 1)
    return query[..., -1:] - step.clamp(min=0), key[..., -1:] + step.clamp(max=0)


def _overlapping(numbers: Any, queries: int, keys: int) -> Any:
    """Row r of the view begins at number r: (*batch, heads, numbers) to (batch, heads, queries, keys), batch 1 without one."""
    numbers = (numbers if numbers.ndim == 3 else numbers[None]).contiguous()
    batch, heads, count = numbers.shape
    return numbers.as_strided((batch, heads, queries, keys), (heads * count, count, 1, 1))


def _rising(name: str, positions: Any) -> Any:
    """Positions as signed numbers; a ValueError where it can be seen that one is not the last plus one."""
    positions = _array.signed(checked(row_of_places(name, positions), name))
    if positions.requires_grad:
        raise ValueError(
            f"{name} must not require a gradient, as only its ends are read; got one that does. Detach it."
        )
    if _array.concrete(positions):
        wrong = (positions.diff() != 1).nonzero()
        if len(wrong):
            *row, place = wrong[0].tolist()
            step = positions[(*row, slice(place, place + 2))].tolist()
            raise ValueError(
                f"{name} must rise by one from place to place; got {step[0]} and then {step[1]}. Use posenc.torch.Bias or score_mod."
            )
    return positions


def _guard(positions: Any) -> Any:
    """0.0, or NaN for a row of positions that could not be seen and does not rise by one; shape (*batch, 1, 1)."""
    zero = torch.zeros((), device=positions.device)
    if _array.concrete(positions):
        return zero
    steps = torch.arange(positions.shape[-1], device=positions.device)
    rises = (positions - positions[..., :1] == steps).all(-1)
    return torch.where(rises, zero, torch.full_like(zero, float("nan")))[..., None, None]
