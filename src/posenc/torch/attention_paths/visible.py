"""Which keys a query may see: by index counted from the ends, so that the last query stands at the last key."""

from __future__ import annotations

from typing import Any

import torch

from posenc.core import arrays
from posenc.torch.attention_paths.arguments import Arguments


def key_range(asked: Arguments, start: int, stop: int) -> tuple[int, int]:
    """The first and the last key, excluded, that a query from start to stop may see."""
    ahead, (before, after) = asked.keys - asked.queries, window_sides(asked)
    first = 0 if before is None else max(0, start + ahead - before)
    last = asked.keys if after is None else min(asked.keys, max(0, stop + ahead + after))
    return min(first, last), last


def visible(asked: Arguments, start: int, stop: int, first: int, last: int) -> Any:
    """True where a query from start to stop may see a key from first to last, four axes; None where all see all."""
    ahead, (before, after) = asked.keys - asked.queries, window_sides(asked)
    after = None if any(each.causal for each in asked.shared) else after  # it hides those keys itself
    row = torch.arange(start + ahead, stop + ahead, device=asked.q.device)[:, None]
    column = torch.arange(first, last, device=asked.q.device)
    allowed_keys = None
    if after is not None and last - 1 > start + ahead + after:
        allowed_keys = column <= row + after
    if before is not None and first < stop - 1 + ahead - before:
        near = column >= row - before
        allowed_keys = near if allowed_keys is None else allowed_keys & near
    if allowed_keys is not None:
        allowed_keys = allowed_keys[None, None]
    if asked.documents is not None:
        of_query, of_key = asked.documents
        same = of_query[:, None, start:stop, None] == of_key[:, None, None, first:last]
        allowed_keys = same if allowed_keys is None else allowed_keys & same
    if asked.mask is None:
        return allowed_keys
    mask = asked.mask
    mask = mask[:, :, start:stop] if mask.shape[2] != 1 else mask
    mask = mask[..., first:last] if mask.shape[3] != 1 else mask
    return mask if allowed_keys is None else mask & allowed_keys


def with_hidden_keys(asked: Arguments, added: Any, visible_keys: Any, start: int, first: int) -> Any:
    """What is added to logits, -inf where a query sees no key; written in place where nobody else reads it."""
    if visible_keys is None:
        return added
    if asked.recorded or asked.shared or shares_memory(added) or asked.mask is not None or asked.documents is not None:
        return torch.where(visible_keys, added, float("-inf"))
    # Before the own key of the first query only a window hides keys.
    begin = max(0, start + asked.keys - asked.queries - first) if asked.window[0] is None else 0
    added[..., begin:].masked_fill_(~visible_keys[..., begin:], float("-inf"))
    return added


def shares_memory(x: Any) -> bool:
    """Whether several numbers of a tensor are one."""
    return any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True))


def unsupported_steps(asked: Arguments) -> str | None:
    """Why distances of positions are not those of indices; None where both rise by one from token to token."""
    lib = arrays.library(asked.query_positions)
    if not lib.concrete(asked.query_positions) or not lib.concrete(asked.key_positions):
        return "positions cannot be looked at without a cost"
    if not all(bool((torch.diff(x.double()) == 1).all()) for x in (asked.query_positions, asked.key_positions)):
        return "positions do not rise by one from token to token"
    return None


def window_sides(asked: Arguments) -> tuple[int | None, int | None]:
    """Keys before and after its own that a query sees; causal is a window that ends at the query."""
    before, after = asked.window
    return before, 0 if asked.causal else after
