"""Which keys a query may see: by index counted from the ends, so that the last query stands at the last key."""

from __future__ import annotations

from typing import Any

import torch

from posenc.core import arrays
from posenc.torch.attention_paths.arguments import AttentionCall


def key_range(call: AttentionCall, start: int, stop: int) -> tuple[int, int]:
    """The first and the last key, excluded, that a query from start to stop may see."""
    ahead, (before, after) = call.keys - call.queries, window_sides(call)
    first = 0 if before is None else max(0, start + ahead - before)
    last = call.keys if after is None else min(call.keys, max(0, stop + ahead + after))
    return min(first, last), last


def visible(call: AttentionCall, start: int, stop: int, first: int, last: int) -> Any:
    """True where a query from start to stop may see a key from first to last, four axes; None where all see all."""
    ahead, (before, after) = call.keys - call.queries, window_sides(call)
    after = None if any(each.causal for each in call.shared) else after  # it hides those keys itself
    row = torch.arange(start + ahead, stop + ahead, device=call.q.device)[:, None]
    column = torch.arange(first, last, device=call.q.device)
    allowed_keys = None
    if after is not None and last - 1 > start + ahead + after:
        allowed_keys = column <= row + after
    if before is not None and first < stop - 1 + ahead - before:
        near = column >= row - before
        allowed_keys = near if allowed_keys is None else allowed_keys & near
    if allowed_keys is not None:
        allowed_keys = allowed_keys[None, None]
    if call.documents is not None:
        of_query, of_key = call.documents
        same = of_query[:, None, start:stop, None] == of_key[:, None, None, first:last]
        allowed_keys = same if allowed_keys is None else allowed_keys & same
    if call.mask is None:
        return allowed_keys
    mask = call.mask
    mask = mask[:, :, start:stop] if mask.shape[2] != 1 else mask
    mask = mask[..., first:last] if mask.shape[3] != 1 else mask
    return mask if allowed_keys is None else mask & allowed_keys


def with_hidden_keys(call: AttentionCall, added: Any, visible_keys: Any, start: int, first: int) -> Any:
    """What is added to logits, -inf where a query sees no key; written in place where nobody else reads it."""
    if visible_keys is None:
        return added
    if call.recorded or call.shared or shares_memory(added) or call.mask is not None or call.documents is not None:
        return torch.where(visible_keys, added, float("-inf"))
    # Before the own key of the first query only a window hides keys.
    begin = max(0, start + call.keys - call.queries - first) if call.window[0] is None else 0
    added[..., begin:].masked_fill_(~visible_keys[..., begin:], float("-inf"))
    return added


def shares_memory(x: Any) -> bool:
    """Whether several numbers of a tensor are one."""
    return any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True))


def unsupported_steps(call: AttentionCall) -> str | None:
    """Why distances of positions are not those of indices; None where both rise by one from token to token."""
    lib = arrays.library(call.query_positions)
    if not lib.concrete(call.query_positions) or not lib.concrete(call.key_positions):
        return "positions cannot be looked at without a cost"
    if not all(bool((torch.diff(x.double()) == 1).all()) for x in (call.query_positions, call.key_positions)):
        return "positions do not rise by one from token to token"
    return None


def window_sides(call: AttentionCall) -> tuple[int | None, int | None]:
    """Keys before and after its own that a query sees; causal is a window that ends at the query."""
    before, after = call.window
    return before, 0 if call.causal else after
