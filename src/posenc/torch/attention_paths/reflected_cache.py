"""Decoding with PaTH: cached keys are kept as the last token sees them, so that a step reflects each of them once.

A new token acts on all keys before it as one matrix I - βwwᵀ does, the same for all later queries (Yang et al. 2025,
arXiv:2505.16381). So its query meets the cached keys as they are, and then they take its reflection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import dropout as dropped

from posenc.core import arrays
from posenc.core.checked_attention import Window, repeated
from posenc.encodings.scores.path import BLOCK, PaTH
from posenc.positions.ordered_keys import ordered
from posenc.torch.attention_paths.arguments import AttentionCall, tensor_mask
from posenc.torch.attention_paths.tiles import softmax_of_hidden


def keeps_reflected(encodings: Sequence[Any], causal: bool, window: Window, scale: float | None) -> bool:
    """Whether a layer's cache can hold reflected keys: PaTH alone, causal, without a window, at its own scale."""
    if len(encodings) != 1 or not isinstance(encodings[0], PaTH) or not causal or window != (None, None):
        return False
    return scale is None or math.isclose(scale, 1 / math.sqrt(encodings[0].dim))


def guard_of_cache(cached: Any, at: Any, seen_from: Any) -> Any:
    """Check that a cache is whole and that new tokens come after it.

    Args:
        cached: Positions of the cached keys, (m,) or (batch, m).
        at: Those of all keys, the new ones last.
        seen_from: Position of the token that sees the cached keys so; None where there is none.

    Returns:
        None where positions can be read and are right; else NaN for each row that is wrong and 0.0 for the others.

    Raises:
        ValueError: The last cached key is another one, or positions do not rise.
    """
    lib = arrays.library(at)
    whole = seen_from is not None and seen_from.shape == cached[..., -1:].shape
    if cached.shape[-1] and not (whole and (not lib.concrete(cached) or torch.equal(seen_from, cached[..., -1:]))):
        raise ValueError(
            "cache must be one that a step of this layer returned, with all of its tokens: PaTH's keys are kept as the "
            f"last of them sees them; got {cached.shape[-1]} tokens and seen_from={seen_from}. Keep the cache of the "
            "step that you want to go back to."
        )
    last = max(0, cached.shape[-1] - 1)
    rises = (at[..., last + 1 :] > at[..., last:-1]).all(-1)
    if not lib.concrete(rises):
        return torch.where(rises, 0.0, float("nan")).reshape(-1, 1, 1, 1)
    if not rises.all():
        raise ValueError(
            "positions must rise from token to token for PaTH, whose cached keys are kept as the last token sees them; "
            f"got {at[..., last:].tolist()} from the last cached token on. Give a mask for padding, and positions that "
            "count it."
        )
    return None


def attend_behind(call: AttentionCall, far: Any, v: Any, x: Any, mask: Any) -> tuple[Any, Any]:
    """Attend with new tokens behind cached ones, and reflect all keys by them.

    Args:
        call: The new tokens, as queries and as keys.
        far: Keys of earlier tokens as the last of them sees them, (batch, heads, m, width), in float32 at least, since
            a key is rounded again at each step; None where there are none.
        v: Values of all tokens, (batch, key heads, m + n, width).
        x: Inputs of the layer of the new tokens, behind those of as many tokens before as the filter reads.
        mask: As for `attention`, over all keys, or None.

    Returns:
        The output, (batch, heads, n, width), and all keys as the last new token sees them.
    """
    mask = tensor_mask(mask, call.q, v)
    lib, score, start, parts = arrays.library(call.q), call.scores[0], x.shape[1] - call.queries, []
    if far is None:
        far = call.q.new_empty((*call.q.shape[:2], 0, call.q.shape[3]), dtype=lib.wide_dtype(call.q.dtype))
    encoding, v = score.encoding, v.to(far.dtype)
    learned = {name: value.to(far.dtype) for name, value in encoding.checked(score.params).items()}
    q, k = call.q.to(far.dtype), repeated(call.k, call.q.shape[1]).to(far.dtype)
    with lib.full_precision():
        for first in range(0, call.queries, BLOCK):
            some = slice(first, min(first + BLOCK, call.queries))
            read = x[:, max(0, start + first + 1 - encoding.taps) : start + some.stop].to(far.dtype)
            prepared = encoding.of_keys(k[:, :, some], read, ordered(lib.arange(read.shape[1])), learned)
            logits, far = _met(q[:, :, some] * call.scale, far, *prepared)
            seen = mask if mask is None or mask.shape[2] == 1 else mask[:, :, some]
            seen = seen if seen is None or seen.shape[3] == 1 else seen[..., : far.shape[2]]
            parts.append(_weighed(logits, v[:, :, : far.shape[2]], seen, call.dropout))
    output = torch.cat(parts, 2) if parts else v.new_zeros((*q.shape[:3], v.shape[-1]))
    return output.to(call.q.dtype), far


def _met(q: Any, far: Any, k: Any, w: Any, taken: Any, left: Any) -> tuple[Any, Any]:
    """The logits of a block of tokens over all keys up to their own, and these keys as its last token sees them."""
    count = q.shape[2]
    hidden = torch.ones(count, count, dtype=torch.bool, device=q.device).triu(1)
    reached = (q @ w.mT).masked_fill(hidden, 0.0)
    own = (q @ k.mT - reached @ taken).masked_fill(hidden, float("-inf"))
    products = torch.cat([q - reached @ left, left], 2) @ far.mT  # cached keys are read once for both
    kept = torch.baddbmm(far.flatten(0, 1), products[:, :, count:].mT.flatten(0, 1), w.flatten(0, 1), alpha=-1)
    reflected = torch.cat([kept.view(far.shape), k - taken.mT @ w], 2)
    return torch.cat([products[:, :, :count], own], -1), reflected


def _weighed(logits: Any, v: Any, mask: Any, dropout: float) -> Any:
    """Weight values, shared by groups of heads, by the softmax of logits; zeros for a query that sees no key."""
    weights = logits.softmax(-1) if mask is None else softmax_of_hidden(logits.masked_fill(~mask, float("-inf")))
    weights = dropped(weights, dropout) if dropout else weights
    batch, heads, queries, keys = weights.shape
    return (weights.reshape(batch, v.shape[1], -1, keys) @ v).view(batch, heads, queries, v.shape[-1])
