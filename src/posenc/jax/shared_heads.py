"""Attention in JAX under "ulysses": devices exchange tokens for heads, attend to the whole row, and exchange back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from posenc.core.arrays import Array
from posenc.core.checked_attention import check_heads_suffice, repeated
from posenc.core.doors import AttentionBias, AttentionScore, RotaryEncoding
from posenc.encodings._wrapped import BiasOfSomeHeads, split_by_head
from posenc.jax.bound import Bound
from posenc.positions.shards import Sharding

#: Attention of the whole row: queries, keys and values (batch, some heads, tokens, width) and encodings to the output.
WholeRow = Callable[[Array, Array, Array, Sequence[Bound]], Array]


def check_heads_divide(bound: Sequence[Bound], sharding: Sharding, heads: int) -> None:
    """Check that ranks divide the heads, and refuse encodings that need all heads on one device."""
    sharding.heads(0, heads)
    scores = [one.encoding for one in bound if isinstance(one.encoding, AttentionScore)]
    early, _ = split_by_head(bound)
    check_heads_suffice(scores, [one.encoding for one in early[-1:]], heads // sharding.ranks, heads)


def attend_by_heads(
    vectors: tuple[Array, Array, Array],
    positions: Array,
    bound: Sequence[Bound],
    sharding: Sharding,
    axis_name: str,
    attend: WholeRow,
) -> Array:
    """Attend with the heads of this device.

    Args:
        vectors: Queries, keys and values of this device's tokens, (batch, heads, tokens / ranks, width).
        positions: Of this device's tokens.
        bound: Encodings, in the order in which they act.
        sharding: Division of the row.
        axis_name: Axis of the mesh that shares the row.
        attend: Attention of the whole row with some heads.

    Returns:
        The output for this device's tokens, (batch, heads, tokens / ranks, width).
    """
    early, inside = split_by_head(bound)
    q, k, v = _rotated(early, vectors, positions)
    heads = q.shape[1]
    if k.shape[1] % sharding.ranks:
        k, v = repeated(k, heads), repeated(v, heads)
    q, k, v = (jax.lax.all_to_all(x, axis_name, split_axis=1, concat_axis=2, tiled=True) for x in (q, k, v))
    q, k, v = (sharding.unshard(jnp.split(x, sharding.ranks, axis=2), axis=2) for x in (q, k, v))
    ways = [_attending(attend, inside, sharding.heads(rank, heads)) for rank in range(sharding.ranks)]
    if any(isinstance(one.encoding, AttentionBias) for one in inside):
        output = jax.lax.switch(jax.lax.axis_index(axis_name), ways, q, k, v)
    else:
        output = ways[0](q, k, v)
    output = jnp.concatenate([sharding.shard(output, rank, axis=2) for rank in range(sharding.ranks)], axis=2)
    output = jax.lax.all_to_all(output, axis_name, split_axis=2, concat_axis=1, tiled=True)
    for one in early[::-1]:
        if _rotates_values(one):
            output = one.rotate_back(output, positions, layout="bhtd")
    return output


def _attending(attend: WholeRow, bound: Sequence[Bound], own: slice) -> Callable[[Array, Array, Array], Array]:
    """Make attention of the whole row for the heads `own`, with each bias cut down to these heads."""
    some = [
        Bound(BiasOfSomeHeads(own.stop - own.start, one.encoding, own.start), one.params)
        if isinstance(one.encoding, AttentionBias)
        else one
        for one in bound
    ]
    return lambda q, k, v: attend(q, k, v, some)


def _rotated(
    early: Sequence[Bound], vectors: tuple[Array, Array, Array], positions: Array
) -> tuple[Array, Array, Array]:
    """Apply the rotations `early`, while this device still has all heads (of its own tokens)."""
    q, k, v = vectors
    if early:
        k, v = repeated(k, q.shape[1]), repeated(v, q.shape[1])
    for one in early:
        if _rotates_values(one):
            v = one.rotate_values(v, positions, layout="bhtd")
        else:
            q, k = one.rotate(q, k, positions, positions, layout="bhtd")
    return q, k, v


def _rotates_values(one: Bound) -> bool:
    return isinstance(one.encoding, RotaryEncoding) and "value" in one.encoding.roles
