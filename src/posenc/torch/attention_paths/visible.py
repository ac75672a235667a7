"""Keys that a query may see, by index counted from the ends, and keys whose weight vanishes."""

from __future__ import annotations

import functools
from typing import Any

import torch

from posenc.core import arrays
from posenc.torch.attention_paths.arguments import AttentionCall


def is_transformed() -> bool:
    """Whether torch.func maps or differentiates.

    Then numbers cannot be looked at, and a parameter may have an axis that memory made here lacks.
    """
    return bool(torch._C._are_functorch_transforms_active())


def key_range(call: AttentionCall, start: int, stop: int) -> tuple[int, int]:
    """Range (first, last excluded) of the keys that queries `start:stop` may see by causality and window."""
    if torch.compiler.is_exporting():
        return 0, call.keys  # a comparison of lengths would bound those that the program takes
    ahead, (before, after) = call.keys - call.queries, window_sides(call)
    first = 0 if before is None else max(0, start + ahead - before)
    last = call.keys if after is None else min(call.keys, max(0, stop + ahead + after))
    return min(first, last), last


def most_keys(call: AttentionCall, queries: int) -> int:
    """Largest number of keys that `queries` consecutive queries may see together, by causality and window."""
    before, after = window_sides(call)
    if before is None or after is None:
        return call.keys
    return min(call.keys, before + queries + after)


def visible(call: AttentionCall, start: int, stop: int, first: int, last: int) -> Any:
    """True where a query from start to stop may see a key from first to last, four axes; None where all see all."""
    ahead, (before, after) = call.keys - call.queries, window_sides(call)
    after = None if any(each.causal for each in call.shared) else after  # it hides those keys itself
    exporting = torch.compiler.is_exporting()
    too_late = after is not None and (exporting or last - 1 > start + ahead + after)
    too_early = before is not None and (exporting or first < stop - 1 + ahead - before)
    allowed_keys: Any = None
    if too_late or too_early:
        row = torch.arange(start + ahead, stop + ahead, device=call.q.device)[:, None]
        beyond_own = torch.arange(first, last, device=call.q.device) - row
        sides = [beyond_own <= after] if too_late else []
        sides += [beyond_own >= -(before or 0)] if too_early else []
        allowed_keys = functools.reduce(torch.logical_and, sides)[None, None]
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
    """Set `added` to -inf where a key is hidden from a query, in place where no other code reads it."""
    if visible_keys is None:
        return added
    if call.recorded or call.shared or shares_memory(added) or call.mask is not None or call.documents is not None:
        return torch.where(visible_keys, added, float("-inf"))
    # Before the own key of the first query only a window hides keys.
    begin = max(0, start + call.keys - call.queries - first) if call.window[0] is None else 0
    added[..., begin:].masked_fill_(~visible_keys[..., begin:], float("-inf"))
    return added


def shares_memory(x: Any) -> bool:
    """Whether elements of a tensor share memory, by an axis of stride 0."""
    return any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True))


def unsupported_steps(call: AttentionCall) -> str | None:
    """Why distances of positions are not those of indices; None where both rise by one from token to token."""
    lib = arrays.library(call.query_positions)
    if not lib.concrete(call.query_positions) or not lib.concrete(call.key_positions):
        return "positions cannot be looked at without a cost"
    several = [each for each in (call.query_positions, call.key_positions) if each.shape[-1] > 1]
    if not all(bool((torch.diff(x if x.dtype is torch.int64 else x.double()) == 1).all()) for x in several):
        return "positions do not rise by one from token to token"
    return None


def window_sides(call: AttentionCall) -> tuple[int | None, int | None]:
    """Keys before and after its own that a query sees; causal is a window that ends at the query."""
    before, after = call.window
    return before, 0 if call.causal else after


#: Weights below e to minus this, 4e-18, of a query's greatest are left out: a million of them are 4e-12 of it, and
#: float32 rounds at 6e-8.
SMALLEST_POWER = 40.0
#: With fewer queries the lengths of all keys cost more than is saved.
FEWEST_QUERIES = 64


def largest_difference(call: AttentionCall, q: Any, k: Any) -> Any:
    """Upper bound of how far scaled q·k of one query with two keys can differ, from the largest norms of q and k."""
    longest = [torch.linalg.vector_norm(x.detach(), dim=-1, dtype=torch.float32).amax() for x in (q, k)]
    return 2.001 * call.scale * longest[0] * longest[1]


def vanishing(call: AttentionCall, added: Any, start: int, first: int, far: Any) -> int:
    """Count the first keys of a tile that have vanishing weight for all queries; -inf is written to all that vanish.

    A processor takes several times as long for weights that are almost zero in float32: subnormal numbers, from e^-87
    on. `far` is `largest_difference` of all queries and keys, None where nothing may be left out.
    """
    if far is None or shares_memory(added):
        return 0
    own = torch.diagonal(added, start + call.keys - call.queries - first, -2, -1)[..., None]
    least = own - (SMALLEST_POWER + far)
    if not (added[..., :1] < least).any():  # what falls with the distance falls most at the first key
        return 0
    vanished = added < least
    read = (~vanished.flatten(0, -2).all(0)).nonzero()
    added.masked_fill_(vanished, float("-inf"))
    return int(read[0].item())


def comparable(call: AttentionCall) -> bool:
    """Whether `vanishing` applies: each query sees its own key, and values can be read and overwritten."""
    plain = arrays.library(call.q).concrete(call.q) and call.q.dtype != torch.float64
    if not plain or call.recorded or is_transformed():  # first: a tracer must not compare numbers of tokens
        return False
    alone = call.mask is None and call.documents is None and call.queries <= call.keys and call.q.shape[0] > 0
    return alone and call.queries >= FEWEST_QUERIES and bool(call.biases or call.scores)
