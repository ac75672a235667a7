"""Attention with PaTH, whose far keys are reflected once for all queries of a tile instead of once for each.

Every token behind a key acts on it as a matrix of d × d numbers does, the same for all later queries (Yang et al. 2025,
arXiv:2505.16381, §3.2). So a tile hands its keys to the next as that one sees them, and far keys need no more than
PyTorch's fused attention. The keys of a tile itself are met pair by pair.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from posenc.core import arrays
from posenc.core.checked_attention import repeated
from posenc.encodings.scores._gathers import PreparedKeys
from posenc.encodings.scores.path import BLOCK, PaTH, reflect
from posenc.torch.attention_paths.arguments import AttentionCall
from posenc.torch.attention_paths.visible import is_transformed

#: Tokens of a tile: more, and more pairs are met one by one; fewer, and far keys are reflected more often.
TOKENS = 4 * BLOCK
#: Keys whose reflections are prepared at once, several tiles of them.
PREPARED = 8 * TOKENS
#: A query costs as much as this many keys that must be reflected for it.
KEYS_A_QUERY = 4


def unsupported_reason(call: AttentionCall) -> str | None:
    """Why far keys cannot be reflected for a tile at once; None where they can."""
    if len(call.scores) != 1 or not isinstance(call.scores[0].encoding, PaTH):
        return "reflections are PaTH's alone"
    if call.biases or call.shared or call.rotations or call.value_rotations:
        return "another encoding acts besides"
    if not call.causal or call.window != (None, None) or call.mask is not None or call.documents is not None:
        return "what hides pairs is not a causal mask alone"
    if call.dropout or not math.isclose(call.scale, 1 / math.sqrt(call.q.shape[-1])):
        return "dropout, or a scale that is not PaTH's"
    if call.recorded or is_transformed() or call.q.device.type != "cpu" or not arrays.library(call.q).concrete(call.q):
        return "the fused kernel gives its sums on a processor alone, and no gradient of them"
    if not call.queries or KEYS_A_QUERY * call.queries < call.keys:
        return "there are too few queries for so many keys"
    if call.q.shape[-1] != call.v.shape[-1]:
        return "the fused kernel takes values as wide as keys"
    last = call.key_positions[..., call.keys - call.queries :]
    if not (last == call.query_positions).all() or not (torch.diff(call.key_positions.double()) > 0).all():
        return "queries are not the last keys, in the order of their positions"
    return None


def attend(call: AttentionCall) -> Any:
    """The output, (batch, heads, n, width), a tile of keys and their queries after the other."""
    dtype, heads = arrays.library(call.q).wide_dtype(call.q.dtype), call.q.shape[1]
    q = call.q.to(dtype)
    k, v = (repeated(x, heads).to(dtype) for x in (call.k, call.v))
    far, output = torch.empty_like(k), call.q.new_empty((*q.shape[:3], v.shape[-1]))
    ahead = call.keys - call.queries
    with arrays.library(q).full_precision():
        for start in range(0, call.keys, TOKENS):
            own = slice(start, min(start + TOKENS, call.keys))
            rows = slice(max(0, start - ahead), max(0, own.stop - ahead))
            if not start % PREPARED:
                prepared, begin = _prepared(call, k, start)
            keys = prepared.part(slice(start - begin, own.stop - begin))
            logits, seen, reflected, matrix = _met(call, q[:, :, rows], keys, own, rows)
            if rows.start < rows.stop:
                output[:, :, rows] = _attended(logits, seen, far[:, :, :start], v, own, call.scale)
            if own.stop < call.keys:
                far[:, :, :start] = far[:, :, :start] @ matrix.mT
                far[:, :, own] = reflected
    return output


def _prepared(call: AttentionCall, k: Any, start: int) -> tuple[PreparedKeys, int]:
    """Prepare the reflections of up to `PREPARED` keys from `start` on; return them and the index of their first key.

    The keys before, which the filter reads, begin at a block too, so that all blocks are those of the whole.
    """
    score = call.scores[0]
    encoding: Any = score.encoding
    begin = max(0, start - -(-(encoding.taps - 1) // BLOCK) * BLOCK)
    some = slice(begin, min(start + PREPARED, call.keys))
    hidden = call.hidden[:, some]
    return encoding.prepare(k[:, :, some], call.key.part((..., some)), score.params, hidden=hidden), begin


def _met(call: AttentionCall, q: Any, keys: PreparedKeys, own: slice, rows: slice) -> tuple[Any, Any, Any, Any]:
    """Logits of a tile over its own keys, its queries as earlier keys see them; its keys and matrix for later tiles.

    The unit vectors, as queries that come after the tile, give the last two.
    """
    k = keys.arrays[0]
    count, dim = q.shape[2], q.shape[-1]
    units = torch.eye(dim, dtype=q.dtype).expand(*q.shape[:2], dim, dim)
    tokens = torch.arange(own.start, own.stop)
    hidden = tokens > torch.arange(rows.start, rows.stop)[:, None] + (call.keys - call.queries)
    reached = torch.cat([~hidden, torch.ones(dim, len(tokens), dtype=torch.bool)]).to(q.dtype)
    products, seen = reflect(torch.cat([q, units], 2), keys, reached)
    logits = call.scale * (q @ k.mT + products[:, :, :count])
    reflected = k + products[:, :, count:].mT
    return logits.masked_fill_(hidden, float("-inf")), seen[:, :, :count], reflected, seen[:, :, count:]


def _attended(logits: Any, seen: Any, far: Any, v: Any, own: slice, scale: float) -> Any:
    """The output of a tile's queries over its own keys, by their logits, and over far ones, by fused attention."""
    top = logits.amax(-1, keepdim=True)
    powers = logits.sub_(top).exp_()
    total = powers.sum(-1, keepdim=True)
    near = (powers @ v[:, :, own]).div_(total)
    if not own.start:
        return near
    # The fused kernel reads its vectors in one piece.
    output, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        seen.contiguous(), far, v[:, :, : own.start], 0.0, False, scale=scale
    )
    share = torch.sigmoid(sums[..., None] - (total.log() + top))
    return near + share * (output - near)
