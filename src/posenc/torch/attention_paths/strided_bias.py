"""A relative bias in attention from one number a distance, and no matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import checked
from posenc.core.doors import AttentionBias, Params
from posenc.torch.attention_paths.kernel_biases import check_together, row_of_positions
from posenc.torch.attention_paths.visible import is_transformed
from posenc.torch.modules.encoding_module import EncodingModule, encoding_and_params
from posenc.torch.tensor_arguments import plain_tensor

#: Of the keys that a query sees, the share by which queries of a piece may differ: less saves little more, and each
#: piece costs calls. None is smaller than SMALLEST.
PIECES, SMALLEST = 8, 64


@dataclass(frozen=True, eq=False)
class StridedBias:
    """A relative bias as one number a head and distance: `strided` makes it, `strided_attention` alone takes it.

    It is no tensor, and PyTorch's functions refuse it: seen as a mask, its queries would stand in reverse order.

    Attributes:
        numbers: (batch or 1, heads, n + m - 1); the first m belong to the last query and its keys, and each query
            before it begins one number later.
        queries: n.
        keys: m.
        causal: Whether keys after the query have -inf.
        ahead: By how much the position of the last query exceeds that of the last key, in the row where it does most;
            None where positions could not be seen.
    """

    numbers: Array = field(repr=False)
    queries: int
    keys: int
    causal: bool
    ahead: int | None

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise TypeError(
            "attn_mask must be a tensor; got a StridedBias, whose queries stand in reverse order. Call "
            "posenc.torch.strided_attention(q, k, v, bias), or make a dense mask with posenc.torch.Bias."
        )

    def last_query_first(self, dtype: Any) -> Any:
        """View the bias as a mask for queries in reverse order, its rows overlapping, since no stride is negative.

        Args:
            dtype: Of the mask.

        Returns:
            The mask, (batch or 1, heads, n, m).
        """
        numbers = self.numbers.to(dtype).contiguous()
        batch, heads, count = numbers.shape
        return numbers.as_strided((batch, heads, self.queries, self.keys), (heads * count, count, 1, 1))

    def pieces(self, most: int) -> Iterator[tuple[slice, slice]]:
        """Yield slices of queries in reverse order, at most `most` in each, and of the keys that these may see.

        Args:
            most: Queries of a piece.

        Yields:
            Queries and keys, at least one of each.
        """
        first, last = self._seen()
        whole = last - first == self.numbers.shape[-1]
        # A piece also meets keys that only some of its queries see.
        size = self.queries if whole else max(SMALLEST, (last - first) // PIECES)
        for start in range(0, self.queries, min(size, most)):
            stop = min(start + min(size, most), self.queries)
            end = min(max(1, last - start), self.keys)
            yield slice(start, stop), slice(min(max(0, first - (stop - 1)), end - 1), end)

    def _seen(self) -> tuple[int, int]:
        """Range (first, last excluded) outside which all numbers are -inf; wider where they cannot be read."""
        if arrays.library(self.numbers).concrete(self.numbers) and not is_transformed():
            seen = (self.numbers != float("-inf")).flatten(0, -2).any(0).nonzero()
            return (int(seen[0]), int(seen[-1]) + 1) if len(seen) else (0, 1)
        return 0, self.numbers.shape[-1] if not self.causal or self.ahead is None else max(1, self.keys + self.ahead)


def strided(
    encoding: AttentionBias | EncodingModule,
    query_positions: Array,
    key_positions: Array,
    params: Params | None = None,
    *,
    causal: bool = False,
    dtype: Any = None,
) -> StridedBias:
    """Make the bias of an encoding that claims "relative" as n + m - 1 numbers a head, for `strided_attention`.

    Args:
        encoding: An encoding that biases, or its module, which brings its parameters.
        query_positions: (n,) or (batch, n), positions that rise by one from token to token, wherever they begin; those
            that cannot be seen (compiled, or on an accelerator) and do not give NaN.
        key_positions: (m,) or (batch, m), likewise.
        params: What an encoding learns; None if nothing.
        causal: Whether keys after the query get -inf (by position, not by index).
        dtype: Of the numbers; float32 for None. float64 queries need float64.

    Returns:
        The bias.

    Raises:
        TypeError: `encoding` does not bias, or positions are no tensors.
        ValueError: `encoding` does not claim "relative", or positions do not rise by one, require a gradient or do not
            belong together.

    Example:
        >>> import torch
        >>> from posenc import ALiBi
        >>> bias = strided(ALiBi(heads=1, steepest=1.0), torch.tensor([4, 5]), torch.arange(3, 6))
        >>> bias, bias.numbers.tolist()
        (StridedBias(queries=2, keys=3, causal=False, ahead=0), [[[-1.0, -0.5, 0.0, -0.5]]])
    """
    encoding, params = encoding_and_params(encoding, params)
    validation.instance("encoding", encoding, AttentionBias, "an encoding that biases")
    validation.one_axis("encoding", encoding)
    if "relative" not in encoding.claims:
        raise ValueError(
            f"encoding must claim 'relative', since its numbers must depend on distances only; got {encoding!r}. Use "
            "posenc.torch.Bias."
        )
    validation.truth("causal", causal)
    same = query_positions is key_positions
    query_positions, key_positions = (
        _rising("query_positions", query_positions),
        _rising("key_positions", key_positions),
    )
    check_together(query_positions, key_positions)
    queries, keys = query_positions.shape[-1], key_positions.shape[-1]
    if not arrays.library(query_positions).compiling() and 0 in (queries, keys):
        empty = encoding.matrix(query_positions, key_positions, params, dtype=dtype).flatten(-2)
        return StridedBias(empty if empty.ndim == 3 else empty[None], queries, keys, causal, 0)
    batch, ahead = (
        torch.broadcast_shapes(query_positions.shape[:-1], key_positions.shape[:-1]),
        0 if same else _ahead(query_positions, key_positions),
    )
    query_positions, key_positions = query_positions.expand(*batch, -1), key_positions.expand(*batch, -1)
    if arrays.library(query_positions).compiling():
        numbers = _distance_by_distance(encoding, query_positions, key_positions, params, dtype)
    else:
        # Every query before the last lies before the last key where that one does not lie behind it.
        hidden = causal and ahead is not None and ahead <= 0
        numbers = _by_grid(encoding, query_positions, key_positions, params, dtype, hidden=hidden)
    if causal:
        there, here = _ends(query_positions, key_positions)
        numbers = numbers.masked_fill((here > there)[..., None, :], float("-inf"))
    numbers = numbers + (_guard(query_positions) + _guard(key_positions)).to(numbers.dtype)
    return StridedBias(numbers if numbers.ndim == 3 else numbers[None], queries, keys, causal, ahead)


def strided_attention(q: Any, k: Any, v: Any, bias: StridedBias, *, scale: float | None = None) -> Any:
    """Return softmax(scale·q·kᵀ + bias)·v by `scaled_dot_product_attention`, for a bias from `strided`.

    Where a causal bias or a window hides keys, pieces of the queries attend each to the keys that they may see, of a
    causal one about half the work; compiled, and on an accelerator for query and key positions that are two tensors,
    all queries attend at once.

    Args:
        q: (batch, heads, n, d), in the order of their positions.
        k: (batch, key heads, m, d); key heads divide heads.
        v: (batch, key heads, m, width).
        bias: A bias from `strided`; next to 16-bit q it stays in float32 on the CPU, and is rounded to their dtype
            elsewhere, where PyTorch's fast kernels take no other.
        scale: Factor of the products; 1/√d for None.

    Returns:
        The output, (batch, heads, n, width).

    Raises:
        TypeError: `bias` is dense or less precise than q, or q, k or v is no dense tensor.
        ValueError: q, k or v has another shape than the bias was made for.

    Example:
        >>> import torch
        >>> from posenc import ALiBi
        >>> q, k, v = torch.ones(3, 1, 2, 4, 8).unbind()
        >>> bias = strided(ALiBi(heads=2), torch.arange(4), torch.arange(4), causal=True)
        >>> strided_attention(q, k, v, bias).shape
        torch.Size([1, 2, 4, 8])
    """
    _check_attention(q, k, v, bias)
    scale = None if scale is None else validation.real("scale", scale, 0.0, 1e6, above=True)
    attended = torch.nn.functional.scaled_dot_product_attention
    dtype = arrays.library(q).wide_dtype(q.dtype) if q.device.type == "cpu" else q.dtype
    mask, grouped = bias.last_query_first(dtype), not validation.equals_one_of(q.shape[1], k.shape[1])
    q = q.flip(-2)
    if not bias.queries or not bias.keys or arrays.library(mask).compiling():
        return attended(q, k, v, attn_mask=mask, scale=scale, enable_gqa=grouped).flip(-2)
    parts = []
    for rows, columns in bias.pieces(bias.queries):
        near = k[..., columns, :], v[..., columns, :]
        parts.append(
            attended(q[..., rows, :], *near, attn_mask=mask[..., rows, columns], scale=scale, enable_gqa=grouped)
        )
    return torch.cat(parts, -2).flip(-2)


def _check_attention(q: Any, k: Any, v: Any, bias: Any) -> None:
    """Refuse what is no strided bias, and queries, keys and values that it was not made for."""
    if not isinstance(bias, StridedBias):
        what = "a dense tensor" if isinstance(bias, torch.Tensor) else validation.shown(bias)
        raise TypeError(
            f"bias must be what posenc.torch.strided gives; got {what}. Give a dense bias to "
            "torch.nn.functional.scaled_dot_product_attention, as attn_mask."
        )
    for name, x in (("q", q), ("k", k), ("v", v)):
        if plain_tensor(name, x).ndim != 4:
            raise ValueError(f"{name} must have shape (batch, heads, n, d); got {tuple(x.shape)}. Give four axes.")
    rows, heads = bias.numbers.shape[:2]
    if q.shape[1:3] != (heads, bias.queries) or not validation.equals_one_of(rows, 1, q.shape[0]):
        raise ValueError(
            f"q must have shape (batch, heads, n, d) with {heads} heads and {bias.queries} queries, as the bias has"
            f"{f', and a batch of {rows}' if rows != 1 else ''}; got {tuple(q.shape)}. Check the "
            "layout and the encoding."
        )
    for name, x in (("k", k), ("v", v)):
        if x.shape[0] != q.shape[0] or x.shape[2] != bias.keys or not x.shape[1] or heads % x.shape[1]:
            raise ValueError(
                f"{name} must have shape (batch, heads, m, d) with the batch of q, {q.shape[0]}, {bias.keys} keys, as "
                f"the bias has, and heads that divide {heads}; got {tuple(x.shape)}. "
                "Check the layout and the positions."
            )
    if q.dtype == torch.float64 != bias.numbers.dtype:
        raise TypeError(
            f"bias must be as precise as q; got {arrays.dtype_name(bias.numbers.dtype)} for float64. Make it with "
            "strided(…, dtype=torch.float64)."
        )


def _ahead(query_positions: Any, key_positions: Any) -> int | None:
    """Largest difference, over rows, of the last query's position and the last key's; None if it cannot be read."""
    lib = arrays.library(query_positions)
    if not (lib.concrete(query_positions) and lib.concrete(key_positions)):
        return None
    most: float = (query_positions[..., -1] - key_positions[..., -1]).max().item()
    return math.floor(most)


def _distance_by_distance(
    encoding: AttentionBias, query_positions: Any, key_positions: Any, params: Params | None, dtype: Any
) -> Any:
    """Bias of every distance, (*batch, heads, n + m - 1), each computed at one pair of positions."""
    there, here = _ends(query_positions, key_positions)
    head = torch.arange(encoding.heads, device=query_positions.device)[:, None]
    return encoding.bias(head, there[..., None, :], here[..., None, :], params, dtype=dtype)


def _by_grid(
    encoding: AttentionBias,
    query_positions: Any,
    key_positions: Any,
    params: Params | None,
    dtype: Any,
    *,
    hidden: bool,
) -> Any:
    """Bias of every distance, from about √m queries by √m keys; -inf for earlier queries and the last key if `hidden`.

    An encoding that multiplies two tables makes a grid faster than a row.
    """
    queries, keys = query_positions.shape[-1], key_positions.shape[-1]
    side = min(queries, math.isqrt(keys - 1) + 1)
    grid = encoding.matrix(query_positions[..., -side:].flip(-1), key_positions[..., ::side], params, dtype=dtype)
    of_last = grid.transpose(-1, -2).flatten(-2)[..., :keys]
    if hidden:
        after = of_last.new_full((*of_last.shape[:-1], queries - 1), float("-inf"))
    else:
        after = encoding.matrix(query_positions[..., :-1].flip(-1), key_positions[..., -1:], params, dtype=dtype)[
            ..., 0
        ]
    return torch.cat([of_last, after], -1)


def _ends(query_positions: Any, key_positions: Any) -> tuple[Any, Any]:
    """Query and key position for each distance: the last query with every key, then other queries with the last key."""
    step = torch.arange(query_positions.shape[-1] + key_positions.shape[-1] - 1, device=query_positions.device) - (
        key_positions.shape[-1] - 1
    )
    return query_positions[..., -1:] - step.clamp(min=0), key_positions[..., -1:] + step.clamp(max=0)


def _rising(name: str, positions: Any) -> Any:
    """Positions as signed numbers; a ValueError where it can be seen that one is not the last plus one."""
    placed = checked(row_of_positions(name, positions), name)
    positions, lib = placed.lib.signed(placed.array), placed.lib
    if positions.requires_grad:
        raise ValueError(
            f"{name} must not require a gradient, as only its ends are read; got one that does. Detach it."
        )
    if lib.concrete(positions):
        wrong = (positions.diff() != 1).nonzero()
        if len(wrong):
            *row, index = wrong[0].tolist()
            step = positions[(*row, slice(index, index + 2))].tolist()
            raise ValueError(
                f"{name} must increase by one from token to token; got {step[0]} and then {step[1]}. Use "
                "posenc.torch.Bias or score_mod."
            )
    return positions


def _guard(positions: Any) -> Any:
    """0.0, or NaN for a row of positions that could not be seen and does not rise by one; shape (*batch, 1, 1)."""
    zero = torch.zeros((), device=positions.device)
    if arrays.library(positions).concrete(positions):
        return zero
    steps = torch.arange(positions.shape[-1], device=positions.device)
    rises = (positions - positions[..., :1] == steps).all(-1)
    return torch.where(rises, zero, torch.full_like(zero, float("nan")))[..., None, None]
