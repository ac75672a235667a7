"""A bias that is made once a step and added in every layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_attention import check_causal, check_learns_nothing, number_of_axes
from posenc.core.doors import AttentionBias
from posenc.torch.attention_paths.kernel_biases import check_together, row_of_positions
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.modules.modules import Bias

#: Numbers that are made at a time, 4 MiB in float32.
NUMBERS = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class SharedBias:
    """A bias for all layers of a step: `shared_bias` makes it, and `attention` takes it among its encodings.

    Attributes:
        matrix: (batch or 1, heads, n, m), -inf where it is causal and hides a key.
        encodings: The biases that it is the sum of.
        query_positions: Positions of the queries that it serves.
        key_positions: Positions of the keys that it serves.
        causal: Whether a query sees no key behind it.

    Example:
        >>> from posenc import FIRE
        >>> from posenc.torch import module
        >>> at = torch.arange(1024)
        >>> with torch.no_grad():
        ...     shared_bias([module(FIRE(heads=2, width=4))], at, at, causal=True)
        SharedBias(FIRE, 2 heads, 1024 queries, 1024 keys, causal, 8.0 MiB)
    """

    matrix: Array
    encodings: tuple[AttentionBias, ...]
    query_positions: Array
    key_positions: Array
    causal: bool

    @property
    def heads(self) -> int:
        """Heads of the bias."""
        return int(self.matrix.shape[1])

    def __repr__(self) -> str:
        names, (_, heads, queries, keys) = " + ".join(type(each).__name__ for each in self.encodings), self.matrix.shape
        size = self.matrix.numel() * self.matrix.element_size() / 2**20
        causal = "causal, " if self.causal else ""
        return f"SharedBias({names}, {heads} heads, {queries} queries, {keys} keys, {causal}{size:.1f} MiB)"


def shared_bias(
    encodings: Sequence[AttentionBias | EncodingModule],
    query_positions: Array,
    key_positions: Array,
    *,
    causal: bool = False,
    dtype: torch.dtype = torch.float32,
) -> SharedBias:
    """Make the sum of biases as a matrix, once a step for all layers; `attention` takes it among its encodings.

    It pays where many layers have one bias that costs more than attention itself: FIRE, and other functions of both
    positions; and in a step of decoding. Biases of the distance alone are as fast by themselves, without a matrix.
    Gradients of what learns go through it.

    Args:
        encodings: Encodings that bias, and modules of `posenc.torch.module` for those that learn, all of as many heads.
        query_positions: (n,) or (batch, n).
        key_positions: (m,) or (batch, m), with a last axis of coordinates for encodings that have several.
        causal: Whether a query sees no key behind its own index, counted from the ends; give `attention` the same.
        dtype: float64 for float64 queries, float32 for all others.

    Returns:
        The bias, which takes 4·heads·n·m bytes and prints them.

    Raises:
        TypeError: `encodings` is no list of encodings that bias and their modules, or positions are no tensors.
        ValueError: Heads, shapes or devices do not belong together, or `dtype` is another one.

    Example:
        >>> from posenc import FIRE
        >>> from posenc.torch import attention, module
        >>> q, at, fire = torch.randn(1, 2, 5, 8), torch.arange(5), module(FIRE(heads=2))
        >>> bias = shared_bias([fire], at, at, causal=True)  # once a step
        >>> given = {"query_positions": at, "key_positions": at, "causal": True, "layout": "bhtd"}
        >>> attended = attention(q, q, q, encodings=[bias], **given)  # in every layer
        >>> torch.allclose(attended, attention(q, q, q, encodings=[fire], **given), atol=1e-6)
        True
    """
    modules = _modules(encodings)
    records = tuple(each.encoding for each in modules)
    axes = number_of_axes(records)
    query_positions, key_positions = (
        row_of_positions("query_positions", query_positions, axes),
        row_of_positions("key_positions", key_positions, axes),
    )
    check_together(query_positions, key_positions, axes)
    if not isinstance(dtype, torch.dtype) or dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"dtype must be torch.float32 or torch.float64; got {validation.shown(dtype)}. Logits are float32 at least."
        )
    last = -1 if axes == 1 else -2
    check_causal(causal, query_positions.shape[last], key_positions.shape[last])
    return SharedBias(
        _matrix(modules, query_positions, key_positions, last, causal, dtype),
        records,
        query_positions,
        key_positions,
        causal,
    )


def _modules(encodings: Any) -> list[Bias]:
    if not isinstance(encodings, list | tuple) or not encodings:
        raise TypeError(
            f"encodings must be a list of encodings that bias, and of their modules; got "
            f"{validation.shown(encodings)}. Put it in a list."
        )
    modules = []
    for each in encodings:
        encoding = each.encoding if isinstance(each, EncodingModule) else each
        validation.instance("encodings", encoding, AttentionBias, "a list of encodings that bias")
        if encoding is each:
            check_learns_nothing(encoding, "posenc.torch.module(encoding)")
        modules.append(Bias(encoding) if encoding is each else each)
    heads = sorted({each.encoding.heads for each in modules})
    if len(heads) > 1:
        raise ValueError(f"encodings must have as many heads as each other; got {heads}. Build them for one layer.")
    return modules


def _matrix(modules: list[Bias], query_positions: Any, key_positions: Any, last: int, causal: bool, dtype: Any) -> Any:
    """Sum of the biases, (batch or 1, heads, n, m), made a few queries at a time, without keys that causality hides."""
    queries, keys = query_positions.shape[last], key_positions.shape[last]
    learned = [x for each in modules for x in (each.params or {}).values()]
    recorded = torch.is_grad_enabled() and any(x.requires_grad for x in learned)
    if recorded or not arrays.library(query_positions).concrete(query_positions) or not queries * keys:
        return _rows_of_bias(modules, query_positions, key_positions, 0, keys - queries, causal, dtype)
    batch, heads = (
        torch.broadcast_shapes(query_positions.shape[:last], key_positions.shape[:last], (1,)),
        modules[0].encoding.heads,
    )
    arrays.library(query_positions).check_size(
        "query_positions and key_positions", batch[0] * heads * queries * keys, dtype, query_positions, key_positions
    )
    whole = torch.full((*batch, heads, queries, keys), float("-inf"), dtype=dtype, device=query_positions.device)
    size = max(1, NUMBERS // max(1, batch[0] * heads * keys))
    for start in range(0, queries, size):
        stop = min(start + size, queries)
        seen = keys - queries + stop if causal else keys
        own, near = (
            x.narrow(x.ndim + last, *span)
            for x, span in ((query_positions, (start, stop - start)), (key_positions, (0, seen)))
        )
        whole[:, :, start:stop, :seen] = _rows_of_bias(modules, own, near, start, keys - queries, causal, dtype)
    return whole


def _rows_of_bias(
    modules: list[Bias], query_positions: Any, key_positions: Any, start: int, ahead: int, causal: bool, dtype: Any
) -> Any:
    """Rows of the summed bias from query `start` on; the own key of query i is the key of index i + `ahead`."""
    first, *others = (each(query_positions, key_positions, dtype=dtype) for each in modules)
    added: Any = sum(others, first)
    added = added if added.ndim == 4 else added[None]
    if not causal:
        return added
    row = torch.arange(start, start + added.shape[-2], device=added.device)[:, None]
    column = torch.arange(added.shape[-1], device=added.device)
    return added.masked_fill(column > row + ahead, float("-inf"))


def check_shared(shared: SharedBias, q: Any, k: Any, query_positions: Any, key_positions: Any, causal: bool) -> None:
    """Refuse a shared bias of other tokens, or one that hides other keys."""
    batch, _, queries, keys = shared.matrix.shape
    if (queries, keys) != (q.shape[2], k.shape[2]) or batch not in (1, q.shape[0]):
        raise ValueError(
            f"encodings must hold a shared bias for {q.shape[2]} queries, {k.shape[2]} keys and a batch of "
            f"{q.shape[0]}; got {shared!r} and a batch of {batch}. Make it for these positions."
        )
    if shared.matrix.device != q.device or (q.dtype == torch.float64 and shared.matrix.dtype != q.dtype):
        raise ValueError(
            f"encodings must hold a shared bias on {q.device}, in float64 for float64 q; got "
            f"{arrays.dtype_name(shared.matrix.dtype)} on {shared.matrix.device}. Make it so."
        )
    if shared.causal and not causal:
        raise ValueError("causal must be True for a shared bias that was made causal; got False. Make it again, or so.")
    for name, mine, given in (
        ("query_positions", shared.query_positions, query_positions),
        ("key_positions", shared.key_positions, key_positions),
    ):
        if mine is not given and arrays.library(given).concrete(given) and not (mine == given).all():
            raise ValueError(
                f"{name} must be the positions that the shared bias was made for; got others. Make it for each step."
            )
