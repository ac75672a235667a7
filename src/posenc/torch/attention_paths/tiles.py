"""Attention in tiles of queries: any encoding, in memory that grows with the tokens and not with their square."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import dropout as dropped
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from posenc.core import arrays, validation
from posenc.core.checked_attention import repeated
from posenc.core.checked_positions import checked
from posenc.core.doors import AttentionScore
from posenc.encodings.scores._gathers import Gathers, PreparedKeys
from posenc.torch.attention_paths.arguments import Arguments
from posenc.torch.attention_paths.vanishing import SMALLEST_POWER, comparable, largest_difference, vanishing
from posenc.torch.attention_paths.visible import key_range, visible, with_hidden_keys
from posenc.torch.modules.modules import Score
from posenc.torch.modules.one_call import rotate_at

#: Numbers in the logits of a tile, 4 MiB in float32; what makes a bias or a score takes about ten times as much.
NUMBERS = 1 << 20
#: Behind a causal mask as many tiles as leave out nearly half the work, none with fewer queries.
CAUSAL_TILES, FEWEST_QUERIES = 8, 64


def queries_per_tile(asked: Arguments) -> int:
    """How many queries a tile takes."""
    queries, rows = asked.queries, int(asked.q.shape[0] * asked.q.shape[1])
    most = max(1, NUMBERS // max(1, rows * asked.keys))
    if asked.shared and not asked.biases and not asked.scores:
        most = queries  # nothing is made, so nothing is saved by fewer
    if asked.causal or asked.window != (None, None):
        most = min(most, max(FEWEST_QUERIES, -(-queries // CAUSAL_TILES)))
    return min(most, max(1, queries))


def attend_in_tiles(asked: Arguments, queries: int) -> Any:
    """The output for so many queries at a time, (batch, heads, n, width).

    For a gradient each tile is computed again.
    """
    if not asked.queries or not asked.keys:
        return (asked.q[..., :1] * 0).expand(*asked.q.shape[:3], asked.v.shape[-1]) + asked.v.sum() * 0
    q, k, v = rotated_vectors(asked)
    prepared = prepared_scores(asked)
    again = asked.recorded and queries < asked.queries
    far = largest_difference(asked, q, k) if comparable(asked) else None
    whole, parts = new_output(asked, q, v), []
    # From the last queries, whose tiles see the most keys, so that each next one fits into the memory of the last.
    for start in reversed(range(0, asked.queries, queries)):
        stop = min(start + queries, asked.queries)
        tile = (asked, q[:, :, start:stop], k, v, prepared, far, start, stop)
        if whole is not None:
            whole[:, :, start:stop] = _tile(*tile)
        else:
            parts.append(checkpoint(_tile, *tile, use_reentrant=False) if again else _tile(*tile))
    return torch.cat(parts[::-1], 2) if whole is None else whole


def new_output(asked: Arguments, q: Any, v: Any) -> Any:
    """Memory that tiles write the output into; None where autograd or a compiler needs each by itself."""
    lib = arrays.library(q)
    alone = asked.recorded or lib.compiling() or (q.device.type == "cpu" and not lib.concrete(q))
    return None if alone else q.new_empty((*q.shape[:3], v.shape[-1]))


def rotated_vectors(asked: Arguments) -> tuple[Any, Any, Any]:
    """Queries, keys and values after the rotations that act on them."""
    q, k, v = asked.q, asked.k, asked.v
    if any(getattr(rotation.encoding, "heads", None) for rotation in asked.rotations):  # a rotation for each head of q
        k, v = repeated(k, q.shape[1]), repeated(v, q.shape[1])
    if asked.keys_rotated:
        for rotation in asked.rotations:
            q = rotate_at(rotation.encoding, rotation.params, q, asked.query_positions, "query", "bhtd")
        return q, k, v
    for rotation in asked.rotations:
        q, k = rotation(q, k, asked.query_positions, asked.key_positions, layout="bhtd")
    for rotation in asked.value_rotations:
        v = rotation(v, asked.key_positions, layout="bhtd")
    return q, k, v


def rotated_back(asked: Arguments, output: Any, query: Any) -> Any:
    """The output of queries at these positions, after rotations of values are taken back there."""
    for rotation in asked.value_rotations[::-1]:
        output = rotation.back(output, query, layout="bhtd")
    return output


def adds_to_output(score: Score) -> bool:
    """Whether an encoding that scores also adds to the output, and so reads the weights."""
    return type(score.encoding).values is not AttentionScore.values


def prepared_scores(asked: Arguments) -> dict[Score, PreparedKeys]:
    """What scores read of the keys alone, once for all tiles."""
    k, documents = repeated(asked.k, asked.q.shape[1]), asked.documents
    with arrays.library(k).full_precision():
        return {
            score: score.encoding.prepare(
                k,
                asked.key_positions,
                score.params,
                hidden=_hidden_at_keys(asked, score, 0, asked.keys),
                documents=None if documents is None else documents[1],
            )
            for score in asked.scores
            if isinstance(score.encoding, Gathers)
        }


def _tile(
    asked: Arguments, q: Any, k: Any, v: Any, prepared: dict[Score, PreparedKeys], far: Any, start: int, stop: int
) -> Any:
    first, last = key_range(asked, start, stop)
    first = max(first, _faded(asked, prepared, far, start, stop))
    visible_keys = visible(asked, start, stop, first, last)
    if first == last:
        return torch.zeros_like(q[..., :1]).expand(*q.shape[:3], v.shape[-1])
    added = _added(asked, prepared, start, stop, first, last)
    if added is None:
        added = visible_keys
    else:
        added = with_hidden_keys(asked, added, visible_keys, start, first)
        faded = vanishing(asked, added, start, first, far)
        added, first = added[..., faded:], first + faded
    k, v = k[:, :, first:last], v[:, :, first:last]
    if any(map(adds_to_output, asked.scores)):
        return _weighed(asked, q, k, v, added, start, stop, first, last)
    grouped = not validation.equals_one_of(q.shape[1], k.shape[1])
    output = scaled_dot_product_attention(
        q, k, v, attn_mask=added, dropout_p=asked.dropout, scale=asked.scale, enable_gqa=grouped
    )
    return rotated_back(asked, output, _positions_of(asked, asked.query_positions, start, stop))


def _faded(asked: Arguments, prepared: dict[Score, PreparedKeys], far: Any, start: int, stop: int) -> int:
    """How many of the first keys have no weight for any of these queries, whatever stands there."""
    if far is None or asked.biases or asked.shared or len(asked.scores) != 1 or asked.scores[0] not in prepared:
        return 0
    encoding: Any = asked.scores[0].encoding
    keys = prepared[asked.scores[0]]
    if keys.keys.order is not None:
        return 0
    # Up to the own key of the first query by index: the own keys of the others come behind it.
    keys = keys.part(slice(start + asked.keys - asked.queries + 1))
    return int(encoding.faded(checked(asked.query_positions[..., start:stop]), keys, SMALLEST_POWER + float(far)))


def _added(asked: Arguments, prepared: dict[Score, PreparedKeys], start: int, stop: int, first: int, last: int) -> Any:
    """What biases and scores add to the scaled logits of a tile, four axes, in float32 at least; None where nothing."""
    query_positions, key_positions = (
        _positions_of(asked, asked.query_positions, start, stop),
        _positions_of(asked, asked.key_positions, first, last),
    )
    dtype, added = arrays.library(asked.q).wide_dtype(asked.q.dtype), None
    for shared in asked.shared:
        more = shared.matrix[:, :, start:stop, first:last]
        added = more if added is None else added + more
    for bias in asked.biases:
        more = bias(query_positions, key_positions, dtype=dtype)
        more = more if more.ndim == 4 else more[None]
        added = more if added is None else added + more
    for score in asked.scores:
        if score in prepared:
            more = _between(asked, score, prepared[score], start, stop, first, last)
        elif score.encoding.gathers:  # it reads the keys between, so it needs them all
            more = _scored(asked, score, start, stop, 0, asked.keys)[..., first:last]
        else:
            more = _scored(asked, score, start, stop, first, last)
        added = more if added is None else added + more
    return added


def _scored(asked: Arguments, score: Score, start: int, stop: int, first: int, last: int) -> Any:
    """The score of a tile."""
    q, k = asked.q[:, :, start:stop], repeated(asked.k[:, :, first:last], asked.q.shape[1])
    query_positions, key_positions = (
        _positions_of(asked, asked.query_positions, start, stop),
        _positions_of(asked, asked.key_positions, first, last),
    )
    hidden, documents = _hidden_at_queries(asked, score, start, stop), None
    if score.encoding.reads in ("key_positions", "both"):
        at_keys = _hidden_at_keys(asked, score, first, last)
        hidden = at_keys if hidden is None else torch.cat([hidden, at_keys], 1)
    if asked.documents is not None:
        documents = asked.documents[0][:, start:stop], asked.documents[1][:, first:last]
    return score(q, k, query_positions, key_positions, hidden=hidden, documents=documents)


def _between(
    asked: Arguments, score: Score, prepared: PreparedKeys, start: int, stop: int, first: int, last: int
) -> Any:
    """The score of a tile of queries against keys that are prepared, without those that none of them reaches."""
    encoding: Any = score.encoding
    faded = first and type(encoding).faded is not Gathers.faded  # what comes before may be left out
    query, lib = asked.query_positions[..., start:stop], arrays.library(asked.q)
    documents = None if asked.documents is None else asked.documents[0][:, start:stop]
    if prepared.keys.order is None:
        reached = prepared.keys.reached(checked(query)._replace(documents=documents))
        reached = reached.flatten(0, -2).any(0).nonzero()
        behind = max(last, int(reached[-1]) + 1 if len(reached) else 0)
        if faded:
            prepared, first, last = prepared.part(slice(first, behind)), 0, last - first
        else:
            prepared = prepared.part(slice(behind))
    hidden = _hidden_at_queries(asked, score, start, stop)
    with lib.full_precision():
        more = encoding.score_prepared(
            prepared, asked.q[:, :, start:stop], query, score.params, hidden=hidden, documents=documents
        )
    return more[..., first:last]


def _weighed(asked: Arguments, q: Any, k: Any, v: Any, added: Any, start: int, stop: int, first: int, last: int) -> Any:
    """A tile with its weights written out, for scores that add to the output."""
    heads, dtype = q.shape[1], added.dtype
    near = repeated(k, heads).to(dtype).contiguous()  # of some of the keys, which a product reads two times as slowly
    logits = (q.to(dtype) * asked.scale) @ near.transpose(-1, -2)
    logits += added
    weights = _softmax(logits, asked)
    weights = dropped(weights, asked.dropout) if asked.dropout else weights
    query_positions, key_positions = (
        _positions_of(asked, asked.query_positions, start, stop),
        _positions_of(asked, asked.key_positions, first, last),
    )
    output = rotated_back(asked, weights @ repeated(v, heads).to(dtype), query_positions)
    for score in filter(adds_to_output, asked.scores):
        output = output + score.values(weights, query_positions, key_positions)
    return output.to(q.dtype)


def _softmax(logits: Any, asked: Arguments) -> Any:
    """The weights of logits that nobody else needs; zeros for a query that sees nothing."""
    if asked.recorded or asked.mask is not None or asked.documents is not None or asked.queries > asked.keys:
        blind = torch.isneginf(logits).all(-1, keepdim=True)
        return logits.masked_fill(blind, 0.0).softmax(-1).masked_fill(blind, 0.0)
    return softmax_(logits)  # each query sees its own key at least


def softmax_(logits: Any) -> Any:
    """Weights in the memory of their logits, in half the time of softmax, whose result is memory of its own."""
    powers = logits.sub_(logits.amax(-1, keepdim=True)).exp_()
    return powers.div_(powers.sum(-1, keepdim=True))


def _positions_of(asked: Arguments, positions: Any, start: int, stop: int) -> Any:
    """Positions of some of the tokens, an axis before the coordinates where there are several."""
    several = bool(asked.modules) and asked.modules[0].encoding.axes > 1
    return positions[..., start:stop, :] if several else positions[..., start:stop]


def _hidden_at_queries(asked: Arguments, score: Score, start: int, stop: int) -> Any:
    """The inputs of the layer that a score reads at some queries."""
    return asked.hidden[:, start:stop] if score.encoding.reads in ("query", "both") else None


def _hidden_at_keys(asked: Arguments, score: Score, first: int, last: int) -> Any:
    """The inputs of the layer that a score reads at some keys, which stand behind those of the queries."""
    if score.encoding.reads not in ("key", "both"):
        return None
    queries = asked.queries if score.encoding.reads == "both" else 0
    return asked.hidden[:, queries + first : queries + last]
