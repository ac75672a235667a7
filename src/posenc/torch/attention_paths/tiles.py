"""Attention in tiles of queries: any encoding, in memory that grows with the tokens and not with their square."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn.functional import dropout as dropped
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from posenc.core import arrays, validation
from posenc.core.checked_attention import repeated
from posenc.core.checked_positions import Positions, checked
from posenc.core.doors import AttentionScore
from posenc.encodings.scores._gathers import Gathers, PreparedKeys
from posenc.torch.attention_paths.arguments import AttentionCall, HeldEncoding
from posenc.torch.attention_paths.rotated_vectors import rotated_back, rotated_vectors
from posenc.torch.attention_paths.visible import (
    SMALLEST_POWER,
    comparable,
    is_transformed,
    key_range,
    largest_difference,
    most_keys,
    vanishing,
    visible,
    with_hidden_keys,
)

#: Numbers in the logits of a tile, 8 MiB in float32; what makes a bias or a score takes several times as much.
NUMBERS = 1 << 21
#: Behind a causal mask as many tiles as leave out nearly half the work, none with fewer queries.
CAUSAL_TILES, FEWEST_QUERIES = 8, 64


def queries_per_tile(call: AttentionCall) -> int:
    """How many queries a tile takes."""
    queries, rows = call.queries, int(call.q.shape[0] * call.q.shape[1])
    # In a window, as many that they and the keys that they see besides are as many numbers.
    keys = most_keys(call, math.isqrt(NUMBERS // max(1, rows)))
    most = max(1, NUMBERS // max(1, rows * keys))
    if call.shared and not call.biases and not call.scores:
        most = queries  # nothing is made, so nothing is saved by fewer
    if call.causal or call.window != (None, None):
        most = min(most, max(FEWEST_QUERIES, -(-queries // CAUSAL_TILES)))
    return min(most, max(1, queries))


def attend_in_tiles(call: AttentionCall, queries: int | None) -> Any:
    """Attend with so many queries at a time, (batch, heads, n, width); for a gradient each tile is computed again.

    None is all at once, without a loop that would make the number of queries part of a traced program.
    """
    if not call.queries or not call.keys:
        return (call.q[..., :1] * 0).expand(*call.q.shape[:3], call.v.shape[-1]) + call.v.sum() * 0
    q, k, v = rotated_vectors(call)
    prepared = prepared_scores(call)
    far = largest_difference(call, q, k) if comparable(call) else None
    if queries is None or call.queries == 1:
        return _tile(call, q, k, v, prepared, far, 0, call.queries)
    again = call.recorded and queries < call.queries and not is_transformed()  # torch.func knows no checkpoints
    whole, parts = new_output(call, q, v), []
    # From the last queries, whose tiles see the most keys, so that each next one fits into the memory of the last.
    for start in reversed(range(0, call.queries, queries)):
        stop = min(start + queries, call.queries)
        tile = (call, q[:, :, start:stop], k, v, prepared, far, start, stop)
        if whole is not None:
            whole[:, :, start:stop] = _tile(*tile)
        else:
            parts.append(checkpoint(_tile, *tile, use_reentrant=False) if again else _tile(*tile))
    return torch.cat(parts[::-1], 2) if whole is None else whole


def new_output(call: AttentionCall, q: Any, v: Any) -> Any:
    """Memory that tiles write the output into; None where autograd, a compiler or torch.func forbids such writes."""
    lib = arrays.library(q)
    alone = call.recorded or lib.compiling() or (q.device.type == "cpu" and not lib.concrete(q)) or is_transformed()
    return None if alone else q.new_empty((*q.shape[:3], v.shape[-1]))


def adds_to_output(score: Any) -> bool:
    """Whether an encoding that scores also adds to the output, and so reads the weights."""
    return type(score.encoding).values is not AttentionScore.values


def prepared_scores(call: AttentionCall) -> dict[int, PreparedKeys]:
    """Prepare the parts of scores that depend on keys alone, once for all tiles, by index of the score."""
    if not call.scores:
        return {}
    k, documents = repeated(call.k, call.q.shape[1]), call.documents
    with arrays.library(k).full_precision():
        return {
            place: score.encoding.prepare(
                k,
                call.key,
                score.params,
                hidden=_hidden_at_keys(call, score, 0, call.keys),
                documents=None if documents is None else documents[1],
            )
            for place, score in enumerate(call.scores)
            if isinstance(score.encoding, Gathers)
        }


def _tile(
    call: AttentionCall,
    q: Any,
    k: Any,
    v: Any,
    prepared: dict[int, PreparedKeys],
    far: Any,
    start: int,
    stop: int,
) -> Any:
    first, last = key_range(call, start, stop)
    first = max(first, _faded(call, prepared, far, start, stop))
    visible_keys = visible(call, start, stop, first, last)
    if first == last:
        return torch.zeros_like(q[..., :1]).expand(*q.shape[:3], v.shape[-1])
    added = _added(call, prepared, start, stop, first, last)
    if added is None:
        added = visible_keys
    else:
        added = with_hidden_keys(call, added, visible_keys, start, first)
        faded = vanishing(call, added, start, first, far)
        added, first = added[..., faded:], first + faded
    k, v = k[:, :, first:last], v[:, :, first:last]
    if any(map(adds_to_output, call.scores)):
        return _weighed(call, q, k, v, added, start, stop, first, last)
    grouped = not validation.equals_one_of(q.shape[1], k.shape[1])
    output = scaled_dot_product_attention(
        q, k, v, attn_mask=added, dropout_p=call.dropout, scale=call.scale, enable_gqa=grouped
    )
    return rotated_back(call, output, _part(call, call.query, start, stop)) if call.value_rotations else output


def _faded(call: AttentionCall, prepared: dict[int, PreparedKeys], far: Any, start: int, stop: int) -> int:
    """Number of first keys whose weight must vanish for all queries `start:stop`, whatever the vectors are."""
    if far is None or call.biases or call.shared or len(call.scores) != 1 or 0 not in prepared:
        return 0
    encoding: Any = call.scores[0].encoding
    keys = prepared[0]
    if keys.keys.order is not None:
        return 0
    # Up to the own key of the first query by index: the own keys of the others come behind it.
    keys = keys.part(slice(start + call.keys - call.queries + 1))
    return int(encoding.faded(checked(call.query_positions[..., start:stop]), keys, SMALLEST_POWER + float(far)))


def _added(call: AttentionCall, prepared: dict[int, PreparedKeys], start: int, stop: int, first: int, last: int) -> Any:
    """Sum of the biases and scores of a tile, four axes, in float32 at least; None where there are none."""
    query, key = _part(call, call.query, start, stop), _part(call, call.key, first, last)
    dtype, added = query.lib.wide_dtype(call.q.dtype), None
    for shared in call.shared:
        more = shared.matrix[:, :, start:stop, first:last]
        added = more if added is None else added + more
    for bias in call.biases:
        more = bias.encoding.matrix(query, key, bias.params, dtype=dtype)
        more = more if more.ndim == 4 else more[None]
        added = more if added is None else added + more
    for place, score in enumerate(call.scores):
        if place in prepared:
            more = _between(call, score, prepared[place], start, stop, first, last)
        elif score.encoding.gathers:  # it reads the keys between, so it needs them all
            more = _scored(call, score, start, stop, 0, call.keys)[..., first:last]
        else:
            more = _scored(call, score, start, stop, first, last)
        added = more if added is None else added + more
    return added


def _scored(call: AttentionCall, score: HeldEncoding, start: int, stop: int, first: int, last: int) -> Any:
    """The score of a tile."""
    q, k = call.q[:, :, start:stop], repeated(call.k[:, :, first:last], call.q.shape[1])
    query_positions, key_positions = (
        _part(call, call.query, start, stop).array,
        _part(call, call.key, first, last).array,
    )
    hidden, documents = _hidden_at_queries(call, score, start, stop), None
    at_keys = _hidden_at_keys(call, score, first, last)
    if at_keys is not None:
        hidden = at_keys if hidden is None else torch.cat([hidden, at_keys], 1)
    if call.documents is not None:
        documents = call.documents[0][:, start:stop], call.documents[1][:, first:last]
    # Other scores see a query and a key at a time, so that a mask is all it takes to keep documents apart.
    packed = {"documents": documents} if score.encoding.gathers else {}
    with arrays.library(q).full_precision():
        return score.encoding.score(q, k, query_positions, key_positions, score.params, hidden=hidden, **packed)


def _between(
    call: AttentionCall, score: HeldEncoding, prepared: PreparedKeys, start: int, stop: int, first: int, last: int
) -> Any:
    """Score of queries `start:stop` with prepared keys `first:last`, computed without keys that no query reaches."""
    encoding: Any = score.encoding
    faded = first and type(encoding).faded is not Gathers.faded  # what comes before may be left out
    query, lib = _part(call, call.query, start, stop), arrays.library(call.q)
    documents = None if call.documents is None else call.documents[0][:, start:stop]
    if prepared.keys.order is None:
        behind = call.keys if last == call.keys else max(last, _reached(prepared, query, documents))
        if faded:
            prepared, first, last = prepared.part(slice(first, behind)), 0, last - first
        else:
            prepared = prepared.part(slice(behind))
    hidden = _hidden_at_queries(call, score, start, stop)
    with lib.full_precision():
        more = encoding.score_prepared(
            prepared, call.q[:, :, start:stop], query, score.params, hidden=hidden, documents=documents
        )
    return more[..., first:last]


def _reached(prepared: PreparedKeys, query: Positions, documents: Any) -> int:
    """End (excluded) of the keys that at least one of these queries reaches."""
    reached = prepared.keys.reached(query._replace(documents=documents)).flatten(0, -2).any(0).nonzero()
    return int(reached[-1]) + 1 if len(reached) else 0


def _weighed(
    call: AttentionCall, q: Any, k: Any, v: Any, added: Any, start: int, stop: int, first: int, last: int
) -> Any:
    """Attend in a tile with explicit weights, for scores that also add to the output."""
    heads, dtype = q.shape[1], added.dtype
    near = repeated(k, heads).to(dtype).contiguous()  # of some of the keys, which a product reads two times as slowly
    logits = (q.to(dtype) * call.scale) @ near.transpose(-1, -2)
    logits = logits + added if is_transformed() else logits.add_(added)
    weights = _softmax(logits, call)
    weights = dropped(weights, call.dropout) if call.dropout else weights
    query_positions, key_positions = (
        _part(call, call.query, start, stop).array,
        _part(call, call.key, first, last).array,
    )
    output = rotated_back(call, weights @ repeated(v, heads).to(dtype), query_positions)
    for score in filter(adds_to_output, call.scores):
        with arrays.library(weights).full_precision():
            output = output + score.encoding.values(weights, query_positions, key_positions, score.params)
    return output.to(q.dtype)


def _softmax(logits: Any, call: AttentionCall) -> Any:
    """Softmax of logits, in their own memory where it may be overwritten; zeros for a query that sees no key."""
    if call.recorded or call.mask is not None or call.documents is not None or call.queries > call.keys:
        return softmax_of_hidden(logits)
    return softmax_(logits)  # each query sees its own key at least


def softmax_of_hidden(logits: Any) -> Any:
    """The weights of logits that are -inf where a key is hidden; zeros for a query that sees nothing."""
    blind = torch.isneginf(logits).all(-1, keepdim=True)
    return logits.masked_fill(blind, 0.0).softmax(-1).masked_fill(blind, 0.0)


def softmax_(logits: Any) -> Any:
    """Weights in the memory of their logits, in half the time of softmax, whose result is memory of its own."""
    powers = logits.sub_(logits.amax(-1, keepdim=True)).exp_()
    return powers.div_(powers.sum(-1, keepdim=True))


def _part(call: AttentionCall, positions: Positions, start: int, stop: int) -> Positions:
    """Positions of tokens `start:stop`, cut along the last axis, or the one before the coordinates."""
    if start == 0 and validation.equals_one_of(stop, call.queries if positions is call.query else call.keys):
        return positions
    several = bool(call.held) and call.held[0].encoding.axes > 1
    return positions.part((..., slice(start, stop), slice(None)) if several else (..., slice(start, stop)))


def _hidden_at_queries(call: AttentionCall, score: HeldEncoding, start: int, stop: int) -> Any:
    """The inputs of the layer that a score reads at some queries."""
    return call.hidden[:, start:stop] if score.encoding.reads in ("query", "both") else None


def _hidden_at_keys(call: AttentionCall, score: HeldEncoding, first: int, last: int) -> Any:
    """The inputs of the layer that a score reads at some keys, which stand behind those of the queries."""
    if score.encoding.reads not in ("key", "both"):
        return None
    queries = call.queries if score.encoding.reads == "both" else 0
    return call.hidden[:, queries + first : queries + last]
