"""Attention in JAX a few queries at a time, with the logits written out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from posenc.attention import softmax
from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.checked_attention import number_of_axes
from posenc.core.doors import AttentionBias, AttentionScore, RotaryEncoding
from posenc.encodings.scores._gathers import Gathers, PreparedKeys
from posenc.jax.attention_arguments import JaxArguments

#: Numbers in the logits of a tile, 4 MiB in float32.
NUMBERS = 1 << 20


def queries_per_tile(asked: JaxArguments) -> int:
    """How many queries a tile takes."""
    batch, heads, queries, _ = asked.q.shape
    return max(1, min(NUMBERS // max(1, int(batch * heads * asked.k.shape[2])), int(queries)))


def rotated_vectors(asked: JaxArguments, q: Array, k: Array, v: Array) -> tuple[Array, Array, Array]:
    """Queries, keys and values after the rotations that act on them."""
    for each in asked.of(RotaryEncoding):
        if "value" in each.encoding.roles:
            v = each.rotate_values(v, asked.key_positions, layout="bhtd")
        else:
            q, k = each.rotate(q, k, asked.query_positions, asked.key_positions, layout="bhtd")
    return q, k, v


def rotated_back(asked: JaxArguments, output: Array, query: Array) -> Array:
    """The output of queries at these positions, after rotations of values are taken back there."""
    for each in asked.of(RotaryEncoding)[::-1]:
        if "value" in each.encoding.roles:
            output = each.rotate_back(output, query, layout="bhtd")
    return output


def in_tiles(asked: JaxArguments, queries: int) -> Array:
    """The output for so many queries at a time; all in one compiled loop where q is traced."""
    wide = arrays.library(asked.q).wide_dtype(asked.q.dtype)
    q, k, v = rotated_vectors(asked, *(x.astype(wide) for x in (asked.q, asked.k, asked.v)))
    prepared, count = _prepared(asked), asked.q.shape[2]

    def tile(some: Array) -> Array:
        return _tile(asked, k, v, prepared, _at(asked, q, some))

    if queries == count or not isinstance(q, jax.core.Tracer):
        parts = [tile(jnp.arange(start, min(start + queries, count))) for start in range(0, count, queries)]
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts, 2)
    # Tiles of one size: behind the last query it stands again.
    index = jnp.minimum(jnp.arange(-(-count // queries) * queries), count - 1).reshape(-1, queries)
    output = jnp.moveaxis(jax.lax.map(jax.checkpoint(tile), index), 0, 2)
    return output.reshape((*output.shape[:2], -1, output.shape[-1]))[:, :, :count]


@dataclass(frozen=True, eq=False)
class _Queries:
    """What belongs to the queries of a tile."""

    index: Array
    rotated: Array
    q: Array
    query: Array
    hidden: Array | None
    documents: Array | None
    mask: Array | None


def _at(asked: JaxArguments, q: Array, index: Array) -> _Queries:
    several = number_of_axes([each.encoding for each in asked.encodings]) > 1
    reads = {each.encoding.reads for each in asked.of(AttentionScore)}
    mask = asked.mask
    return _Queries(
        index,
        q[:, :, index],
        asked.q[:, :, index],
        asked.query_positions[..., index, :] if several else asked.query_positions[..., index],
        asked.hidden[:, index] if asked.hidden is not None and reads & {"query", "both"} else None,
        None if asked.documents is None else asked.documents[0][:, index],
        mask[:, :, index] if mask is not None and mask.shape[2] > 1 else mask,
    )


def _prepared(asked: JaxArguments) -> dict[int, PreparedKeys]:
    """What scores read of the keys alone, once for all tiles, by the place of the encoding among the encodings."""
    documents = None if asked.documents is None else asked.documents[1]
    return {
        place: each.encoding.prepare(
            asked.k, asked.key_positions, each.params, hidden=_at_keys(asked, each.encoding), documents=documents
        )
        for place, each in enumerate(asked.encodings)
        if isinstance(each.encoding, Gathers)
    }


def _at_keys(asked: JaxArguments, encoding: Any) -> Array | None:
    """The inputs of the layer at the keys, which stand behind those at the queries."""
    if asked.hidden is None or encoding.reads not in ("key", "both"):
        return None
    return asked.hidden[:, asked.q.shape[2] :] if encoding.reads == "both" else asked.hidden


def _tile(asked: JaxArguments, k: Array, v: Array, prepared: dict[int, PreparedKeys], at: _Queries) -> Array:
    logits = jnp.matmul(at.rotated * asked.scale, k.swapaxes(-1, -2), precision="highest")
    for place, each in enumerate(asked.encodings):
        if isinstance(each.encoding, AttentionBias):
            logits = logits + each.bias(at.query, asked.key_positions, dtype=logits.dtype)
        elif isinstance(each.encoding, AttentionScore):
            logits = logits + _score(asked, each, prepared.get(place), at)
    weights = softmax(logits, _visible(asked, at), arrays.library(logits))
    output = rotated_back(asked, jnp.matmul(weights, v, precision="highest"), at.query)
    for each in asked.of(AttentionScore):
        more = each.values(weights, at.query, asked.key_positions)
        output = output if more is None else output + more
    return output.astype(asked.q.dtype)


def _score(asked: JaxArguments, each: Any, prepared: PreparedKeys | None, at: _Queries) -> Array:
    encoding = each.encoding
    read = at.hidden if encoding.reads in ("query", "both") else None
    if prepared is not None:
        return encoding.score_prepared(prepared, at.q, at.query, each.params, hidden=read, documents=at.documents)
    at_keys = _at_keys(asked, encoding)
    parts = [part for part in (read, at_keys) if part is not None]
    packed = None if asked.documents is None else (at.documents, asked.documents[1])
    hidden = jnp.concatenate(parts, 1) if parts else None
    return each.score(at.q, asked.k, at.query, asked.key_positions, hidden=hidden, documents=packed)


def visible_by_index(asked: JaxArguments, index: Array) -> Array:
    """True where a query may see a key by their indices counted from the ends, (n, m)."""
    before, after = asked.window
    after = 0 if asked.causal else after
    row, column = (index + asked.k.shape[2] - asked.q.shape[2])[:, None], jnp.arange(asked.k.shape[2])
    sees = jnp.ones((index.shape[0], asked.k.shape[2]), bool)
    sees = sees if after is None else sees & (column <= row + after)
    return sees if before is None else sees & (column >= row - before)


def _visible(asked: JaxArguments, at: _Queries) -> Array:
    sees = visible_by_index(asked, at.index)[None, None]
    if asked.documents is not None and at.documents is not None:
        sees = sees & (at.documents[:, None, :, None] == asked.documents[1][:, None, None, :])
    return sees if at.mask is None else sees & at.mask
