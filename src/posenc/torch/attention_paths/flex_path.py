"""Attention by PyTorch's flex_attention, which makes a bias pair by pair inside its kernel."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from posenc.core import validation
from posenc.torch.attention_paths.arguments import Arguments
from posenc.torch.attention_paths.flex_score_mod import score_mod
from posenc.torch.attention_paths.tiles import rotated_back, rotated_vectors
from posenc.torch.attention_paths.visible import window_sides


def unsupported_reason(asked: Arguments) -> str | None:
    """Why flex_attention cannot take these arguments; None where it can."""
    if asked.scores:
        return f"{type(asked.scores[0].encoding).__name__} reads content, which no score_mod sees"
    if asked.dropout:
        return "flex_attention has no dropout"
    if not asked.queries or not asked.keys:
        return "there are no pairs"
    if asked.recorded and asked.q.device.type == "cpu":
        return "flex_attention has no gradient on the CPU"
    return None


def attend(asked: Arguments) -> Any:
    """The output, (batch, heads, n, width)."""
    q, k, v = rotated_vectors(asked)
    adds = [score_mod(bias.encoding, asked.query_positions, asked.key_positions, bias.params) for bias in asked.biases]

    def added(score: Any, batch: Any, head: Any, query_index: Any, key_index: Any) -> Any:
        for add in adds:
            score = add(score, batch, head, query_index, key_index)
        return score

    output = _compiled()(
        q,
        k,
        v,
        score_mod=added if adds else None,
        block_mask=_block_mask(asked) if asked.hides else None,
        scale=asked.scale,
        enable_gqa=not validation.equals_one_of(q.shape[1], k.shape[1]),
    )
    return rotated_back(asked, output, asked.query_positions)


@lru_cache(maxsize=1)
def _compiled() -> Any:
    """flex_attention as a kernel: without torch.compile it forms every logit."""
    return torch.compile(flex_attention)


def _block_mask(asked: Arguments) -> Any:
    ahead, (before, after), mask = asked.keys - asked.queries, window_sides(asked), asked.mask
    full = None if mask is None else mask.expand(*mask.shape[:2], asked.queries, asked.keys)

    def sees(batch: Any, head: Any, query_index: Any, key_index: Any) -> Any:
        index = query_index + ahead
        is_visible = key_index >= 0
        if after is not None:
            is_visible = is_visible & (key_index <= index + after)
        if before is not None:
            is_visible = is_visible & (key_index >= index - before)
        if asked.documents is not None:
            of_query, of_key = asked.documents
            row, column = batch % of_query.shape[0], batch % of_key.shape[0]
            is_visible = is_visible & (of_query[row, query_index] == of_key[column, key_index])
        if full is not None:
            is_visible = is_visible & full[batch % full.shape[0], head % full.shape[1], query_index, key_index]
        return is_visible

    plain = full is None and asked.documents is None
    batch, heads = (None, None) if plain else (asked.q.shape[0], None if full is None else asked.q.shape[1])
    return create_block_mask(sees, batch, heads, asked.queries, asked.keys, device=str(asked.q.device))
