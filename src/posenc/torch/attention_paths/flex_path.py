"""Attention by PyTorch's flex_attention, which makes a bias pair by pair inside its kernel."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from posenc.core import validation
from posenc.torch.attention_paths.arguments import AttentionCall
from posenc.torch.attention_paths.kernel_biases import score_mod
from posenc.torch.attention_paths.rotated_vectors import rotated_back, rotated_vectors
from posenc.torch.attention_paths.visible import window_sides


def unsupported_reason(call: AttentionCall) -> str | None:
    """Why flex_attention cannot take these arguments; None where it can."""
    if call.scores:
        return f"{type(call.scores[0].encoding).__name__} reads content, which no score_mod sees"
    if call.dropout:
        return "flex_attention has no dropout"
    if not call.queries or not call.keys or validation.equals_one_of(call.q.shape[0], 0):
        return "there are no pairs"
    if call.recorded and call.q.device.type == "cpu":
        return "flex_attention has no gradient on the CPU"
    return None


def attend(call: AttentionCall) -> Any:
    """The output, (batch, heads, n, width)."""
    q, k, v = rotated_vectors(call)
    adds = [score_mod(bias.encoding, call.query_positions, call.key_positions, bias.params) for bias in call.biases]

    def added(score: Any, batch: Any, head: Any, query_index: Any, key_index: Any) -> Any:
        for add in adds:
            score = add(score, batch, head, query_index, key_index)
        return score

    output = _compiled()(
        q,
        k,
        v,
        score_mod=added if adds else None,
        block_mask=_block_mask(call) if call.hides else None,
        scale=call.scale,
        enable_gqa=not validation.equals_one_of(q.shape[1], k.shape[1]),
    )
    return rotated_back(call, output, call.query_positions)


@lru_cache(maxsize=1)
def _compiled() -> Any:
    """flex_attention as a kernel: without torch.compile it forms every logit."""
    return torch.compile(flex_attention)


def _block_mask(call: AttentionCall) -> Any:
    ahead, (before, after), mask = call.keys - call.queries, window_sides(call), call.mask
    full = None if mask is None else mask.expand(*mask.shape[:2], call.queries, call.keys)

    def sees(batch: Any, head: Any, query_index: Any, key_index: Any) -> Any:
        index = query_index + ahead
        is_visible = key_index >= 0
        if after is not None:
            is_visible = is_visible & (key_index <= index + after)
        if before is not None:
            is_visible = is_visible & (key_index >= index - before)
        if call.documents is not None:
            of_query, of_key = call.documents
            row, column = batch % of_query.shape[0], batch % of_key.shape[0]
            is_visible = is_visible & (of_query[row, query_index] == of_key[column, key_index])
        if full is not None:
            is_visible = is_visible & full[batch % full.shape[0], head % full.shape[1], query_index, key_index]
        return is_visible

    plain = full is None and call.documents is None
    batch, heads = (None, None) if plain else (call.q.shape[0], None if full is None else call.q.shape[1])
    return create_block_mask(sees, batch, heads, call.queries, call.keys, device=str(call.q.device))
