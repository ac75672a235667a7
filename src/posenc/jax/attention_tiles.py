"""Attention in JAX by tiles of a few queries, whose logits are materialised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import export

from posenc.attention import softmax
from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.checked_attention import number_of_axes, repeated
from posenc.core.doors import AttentionBias, AttentionScore
from posenc.encodings.scores._gathers import Gathers, PreparedKeys
from posenc.jax.jax_arguments import JaxArguments
from posenc.jax.rotated_keys import rotated_back, rotated_vectors

#: Numbers in the logits of a tile, 4 MiB in float32.
NUMBERS = 1 << 20
#: Queries of a tile where a length is a symbol, so that logits cannot be counted.
QUERIES_OF_SYMBOLS = 64


def queries_per_tile(arguments: JaxArguments) -> int:
    """Number of queries that a tile takes; a constant also where lengths are symbols of `jax.export`."""
    (batch, heads, queries, _), keys = arguments.q.shape, arguments.k.shape[2]
    symbols = any(export.is_symbolic_dim(size) for size in (batch, heads, keys))
    most = QUERIES_OF_SYMBOLS if symbols else max(1, NUMBERS // max(1, batch * heads * keys))
    return QUERIES_OF_SYMBOLS if export.is_symbolic_dim(queries) else int(min(most, queries))


def in_tiles(arguments: JaxArguments, queries: int) -> Array:
    """Attend with `queries` queries at a time, materialising the logits of these alone."""
    wide = arrays.library(arguments.q).wide_dtype(arguments.q.dtype)
    q, k, v = rotated_vectors(arguments, *(x.astype(wide) for x in (arguments.q, arguments.k, arguments.v)))
    prepared = _prepared(arguments)

    def attended(some: Picked) -> Array:
        return _attended_tile(arguments, k, v, prepared, _tile_of(arguments, q, some))

    return over_queries(attended, q, queries)


#: Of an array, what belongs to the queries of a tile, which lie along an axis.
Picked = Callable[[Array, int], Array]


def over_queries(attended: Callable[[Picked], Array], q: Array, queries: int) -> Array:
    """Attend with at most `queries` queries at a time and join the outputs; in one compiled loop where q is traced."""
    count = q.shape[2]
    if queries == count:
        return attended(lambda x, axis: x)
    tiles = -(-count // queries)
    if not isinstance(q, jax.core.Tracer):
        parts = (partial(_slice, start=start * queries, size=queries) for start in range(tiles))
        return jnp.concatenate([attended(part) for part in parts], 2)
    queries = queries if export.is_symbolic_dim(count) else -(-count // tiles)
    output = jax.lax.map(
        jax.checkpoint(lambda tile: attended(partial(_stride, tile=tile, tiles=tiles, size=queries))), jnp.arange(tiles)
    )
    output = jnp.moveaxis(output, 0, 3)
    return output.reshape((*output.shape[:2], queries * tiles, output.shape[-1]))[:, :, :count]


def _slice(x: Array, axis: int, *, start: int, size: int) -> Array:
    """Part of an axis from `start` on, shorter at the end."""
    return jax.lax.slice_in_dim(x, start, min(start + size, x.shape[axis]), axis=axis)


def _stride(x: Array, axis: int, *, tile: Array, tiles: int, size: int) -> Array:
    """Entries tile, tile + tiles, tile + 2·tiles, … of an axis, so that devices which share it share each tile.

    Tiles have one size: past the end of the axis, the last entry is repeated.
    """
    axis, count = axis % x.ndim, x.shape[axis]
    if size * tiles != count:
        x = jnp.take(x, jnp.minimum(jnp.arange(size * tiles), count - 1), axis=axis)
    x = x.reshape((*x.shape[:axis], size, tiles, *x.shape[axis + 1 :]))
    return jax.lax.dynamic_index_in_dim(x, tile, axis + 1, keepdims=False)


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


def _tile_of(arguments: JaxArguments, q: Array, some: Picked) -> _Tile:
    """Cut a tile out of the rotated queries q and out of all arguments that have an entry for each query."""
    several = number_of_axes([bound.encoding for bound in arguments.encodings]) > 1
    reads = {bound.encoding.reads for bound in arguments.of(AttentionScore)}
    mask = arguments.mask
    return _Tile(
        some(jnp.arange(q.shape[2]), 0),
        some(q, 2),
        some(arguments.q, 2),
        some(arguments.query_positions, -2 if several else -1),
        _hidden_at_queries(arguments, reads, some),
        None if arguments.documents is None else some(arguments.documents[0], 1),
        mask if mask is None or mask.shape[2] == 1 else some(mask, 2),
    )


def _prepared(arguments: JaxArguments) -> dict[int, PreparedKeys]:
    """Prepare, once for all tiles, all that each `Gathers` score needs of keys alone; by the index of the encoding."""
    documents = None if arguments.documents is None else arguments.documents[1]
    return {
        index: bound.encoding.prepare(
            repeated(arguments.k, arguments.q.shape[1]),
            arguments.key_positions,
            bound.params,
            hidden=_hidden_at_keys(arguments, bound.encoding),
            documents=documents,
        )
        for index, bound in enumerate(arguments.encodings)
        if isinstance(bound.encoding, Gathers)
    }


def _hidden_at_queries(arguments: JaxArguments, reads: set[str | None], some: Picked) -> Array | None:
    """Inputs of the layer at a tile's queries, which come before those at the keys."""
    if arguments.hidden is None or not reads & {"query", "both"}:
        return None
    return some(arguments.hidden[:, : arguments.q.shape[2]], 1)


def _hidden_at_keys(arguments: JaxArguments, encoding: Any) -> Array | None:
    """Inputs of the layer at the keys, which come after those at the queries."""
    if arguments.hidden is None or encoding.reads not in ("key", "both"):
        return None
    return arguments.hidden[:, arguments.q.shape[2] :] if encoding.reads == "both" else arguments.hidden


def _attended_tile(
    arguments: JaxArguments, k: Array, v: Array, prepared: dict[int, PreparedKeys], tile: _Tile
) -> Array:
    """Output of the queries of a tile."""
    logits = _grouped_product(tile.rotated * arguments.scale, k.swapaxes(-1, -2))
    for index, bound in enumerate(arguments.encodings):
        if isinstance(bound.encoding, AttentionBias):
            logits = logits + bound.bias(tile.query_positions, arguments.key_positions, dtype=logits.dtype)
        elif isinstance(bound.encoding, AttentionScore):
            logits = logits + _score(arguments, bound, prepared.get(index), tile)
    weights = softmax(logits, _visible(arguments, tile), arrays.library(logits))
    output = rotated_back(arguments, _grouped_product(weights, v), tile.query_positions)
    for bound in arguments.of(AttentionScore):
        more = bound.values(weights, tile.query_positions, arguments.key_positions)
        output = output if more is None else output + more
    return output.astype(arguments.q.dtype)


def _grouped_product(of_queries: Array, of_keys: Array) -> Array:
    """Multiply the matrix of each query head by that of the key head which its group of query heads shares."""
    (batch, heads, *rest), groups = of_queries.shape, of_keys.shape[1]
    grouped = of_queries.reshape((batch, groups, heads // groups, *rest))
    product = jnp.einsum("bhgnd,bhdm->bhgnm", grouped, of_keys, precision="highest")
    return product.reshape((batch, heads, *product.shape[3:]))


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
    k = repeated(arguments.k, arguments.q.shape[1])
    return bound.score(tile.q, k, tile.query_positions, arguments.key_positions, hidden=hidden, documents=packed)


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
