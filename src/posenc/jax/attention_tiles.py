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
from posenc.jax.jax_arguments import JaxArguments

#: Numbers in the logits of a tile, 4 MiB in float32.
NUMBERS = 1 << 20


def queries_per_tile(arguments: JaxArguments) -> int:
    """Number of queries that a tile takes."""
    batch, heads, queries, _ = arguments.q.shape
    return max(1, min(NUMBERS // max(1, int(batch * heads * arguments.k.shape[2])), int(queries)))


def rotated_vectors(arguments: JaxArguments, q: Array, k: Array, v: Array) -> tuple[Array, Array, Array]:
    """Rotate queries, keys and values."""
    for bound in arguments.of(RotaryEncoding):
        if "value" in bound.encoding.roles:
            v = bound.rotate_values(v, arguments.key_positions, layout="bhtd")
        else:
            q, k = bound.rotate(q, k, arguments.query_positions, arguments.key_positions, layout="bhtd")
    return q, k, v


def rotated_back(arguments: JaxArguments, output: Array, query_positions: Array) -> Array:
    """Rotate the output of queries at these positions back, where values were rotated."""
    for bound in arguments.of(RotaryEncoding)[::-1]:
        if "value" in bound.encoding.roles:
            output = bound.rotate_back(output, query_positions, layout="bhtd")
    return output


def in_tiles(arguments: JaxArguments, queries: int) -> Array:
    """Attend with so many queries at a time; in one compiled loop where q is traced."""
    wide = arrays.library(arguments.q).wide_dtype(arguments.q.dtype)
    q, k, v = rotated_vectors(arguments, *(x.astype(wide) for x in (arguments.q, arguments.k, arguments.v)))
    prepared, count = _prepared(arguments), arguments.q.shape[2]

    def attended(index: Array) -> Array:
        return _attended_tile(arguments, k, v, prepared, _tile_of(arguments, q, index))

    if queries == count or not isinstance(q, jax.core.Tracer):
        parts = [attended(jnp.arange(start, min(start + queries, count))) for start in range(0, count, queries)]
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts, 2)
    # Tiles of one size: behind the last query it stands again.
    index = jnp.minimum(jnp.arange(-(-count // queries) * queries), count - 1).reshape(-1, queries)
    output = jnp.moveaxis(jax.lax.map(jax.checkpoint(attended), index), 0, 2)
    return output.reshape((*output.shape[:2], -1, output.shape[-1]))[:, :, :count]


@dataclass(frozen=True, eq=False)
class _Tile:
    """Queries of a tile, with what belongs to each."""

    index: Array
    rotated: Array
    q: Array
    query_positions: Array
    hidden: Array | None
    documents: Array | None
    mask: Array | None


def _tile_of(arguments: JaxArguments, q: Array, index: Array) -> _Tile:
    """Queries at some indices, from the rotated and the given ones."""
    several = number_of_axes([bound.encoding for bound in arguments.encodings]) > 1
    reads = {bound.encoding.reads for bound in arguments.of(AttentionScore)}
    mask = arguments.mask
    return _Tile(
        index,
        q[:, :, index],
        arguments.q[:, :, index],
        arguments.query_positions[..., index, :] if several else arguments.query_positions[..., index],
        arguments.hidden[:, index] if arguments.hidden is not None and reads & {"query", "both"} else None,
        None if arguments.documents is None else arguments.documents[0][:, index],
        mask[:, :, index] if mask is not None and mask.shape[2] > 1 else mask,
    )


def _prepared(arguments: JaxArguments) -> dict[int, PreparedKeys]:
    """Prepare once for all tiles what scores read of the keys alone, by the index of the encoding."""
    documents = None if arguments.documents is None else arguments.documents[1]
    return {
        index: bound.encoding.prepare(
            arguments.k,
            arguments.key_positions,
            bound.params,
            hidden=_hidden_at_keys(arguments, bound.encoding),
            documents=documents,
        )
        for index, bound in enumerate(arguments.encodings)
        if isinstance(bound.encoding, Gathers)
    }


def _hidden_at_keys(arguments: JaxArguments, encoding: Any) -> Array | None:
    """Inputs of the layer at the keys, which come after those at the queries."""
    if arguments.hidden is None or encoding.reads not in ("key", "both"):
        return None
    return arguments.hidden[:, arguments.q.shape[2] :] if encoding.reads == "both" else arguments.hidden


def _attended_tile(
    arguments: JaxArguments, k: Array, v: Array, prepared: dict[int, PreparedKeys], tile: _Tile
) -> Array:
    """Output of the queries of a tile."""
    logits = jnp.matmul(tile.rotated * arguments.scale, k.swapaxes(-1, -2), precision="highest")
    for index, bound in enumerate(arguments.encodings):
        if isinstance(bound.encoding, AttentionBias):
            logits = logits + bound.bias(tile.query_positions, arguments.key_positions, dtype=logits.dtype)
        elif isinstance(bound.encoding, AttentionScore):
            logits = logits + _score(arguments, bound, prepared.get(index), tile)
    weights = softmax(logits, _visible(arguments, tile), arrays.library(logits))
    output = rotated_back(arguments, jnp.matmul(weights, v, precision="highest"), tile.query_positions)
    for bound in arguments.of(AttentionScore):
        more = bound.values(weights, tile.query_positions, arguments.key_positions)
        output = output if more is None else output + more
    return output.astype(arguments.q.dtype)


def _score(arguments: JaxArguments, bound: Any, prepared: PreparedKeys | None, tile: _Tile) -> Array:
    """Scores of the queries of a tile, from prepared keys where there are any."""
    encoding = bound.encoding
    read = tile.hidden if encoding.reads in ("query", "both") else None
    if prepared is not None:
        return encoding.score_prepared(
            prepared, tile.q, tile.query_positions, bound.params, hidden=read, documents=tile.documents
        )
    at_keys = _hidden_at_keys(arguments, encoding)
    parts = [part for part in (read, at_keys) if part is not None]
    packed = None if arguments.documents is None else (tile.documents, arguments.documents[1])
    hidden = jnp.concatenate(parts, 1) if parts else None
    return bound.score(
        tile.q, arguments.k, tile.query_positions, arguments.key_positions, hidden=hidden, documents=packed
    )


def visible_by_index(arguments: JaxArguments, index: Array) -> Array:
    """Truth values (n, m): whether a query may see a key by their indices, counted from the ends."""
    before, after = arguments.window
    after = 0 if arguments.causal else after
    row, column = (index + arguments.k.shape[2] - arguments.q.shape[2])[:, None], jnp.arange(arguments.k.shape[2])
    sees = jnp.ones((index.shape[0], arguments.k.shape[2]), bool)
    sees = sees if after is None else sees & (column <= row + after)
    return sees if before is None else sees & (column >= row - before)


def _visible(arguments: JaxArguments, tile: _Tile) -> Array:
    """Whether queries of a tile may see keys, by index, documents and mask."""
    sees = visible_by_index(arguments, tile.index)[None, None]
    if arguments.documents is not None and tile.documents is not None:
        sees = sees & (tile.documents[:, None, :, None] == arguments.documents[1][:, None, None, :])
    return sees if tile.mask is None else sees & tile.mask
