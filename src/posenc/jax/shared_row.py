"""Attention in JAX over a row of tokens that devices share, inside `jax.shard_map`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_attention import (
    check_fits,
    check_hidden_is_read,
    checked_scale,
    checked_vectors,
    checked_window,
    number_of_axes,
    token_positions,
)
from posenc.core.doors import AttentionScore, Encoding
from posenc.core.rotation import Layout
from posenc.jax.bound import Bound
from posenc.jax.jax_arguments import bound_encodings, check_arrays
from posenc.jax.jax_attention import attention
from posenc.jax.shared_heads import attend_by_heads, check_heads_divide
from posenc.positions.sequences import documents, packed
from posenc.positions.shards import Sharding


def sharded_attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    sharding: Sharding,
    axis_name: str,
    layout: Layout,
    encodings: Sequence[Encoding | Bound] = (),
    positions: Array | None = None,
    causal: bool = False,
    sliding_window: int | None = None,
    hidden: Array | None = None,
    scale: float | None = None,
) -> Any:
    """Attend, inside `jax.shard_map`, over a row of tokens that the devices of an axis share.

    It is `posenc.torch.sharded_attention` for JAX; gradients flow through `jax.grad`. With "contiguous" and "zigzag"
    every device gathers the keys and values of all, with any encoding; with "ulysses" devices exchange tokens for heads
    and back. Arrays must be divided as `sharding` says: put `sharding.indices` of all ranks behind one another before
    you divide the row.

    Args:
        q: Queries of this device's tokens, (batch, heads, tokens / ranks, d) for layout "bhtd".
        k: Keys of this device's tokens.
        v: Values of this device's tokens.
        sharding: Division of the row among as many ranks as the axis of the mesh has devices.
        axis_name: Axis of the mesh that shares the row.
        layout: Order of the axes of q, k and v, "bhtd" or "bthd".
        encodings: As for `attention`.
        positions: Of this device's tokens, (tokens / ranks,), with a last axis of coordinates for encodings that have
            several; None for positions that begin at 0 in each document.
        causal: Whether a query sees no token behind it. It never sees another document.
        sliding_window: As for `attention`, beside `causal=True`.
        hidden: Inputs of the layer at this device's tokens, for encodings that read them.
        scale: As for `attention`.

    Returns:
        The output for this device's tokens, in the dtype and the layout of q.

    Raises:
        TypeError: As for `attention`.
        ValueError: As for `attention`; or the axis has another number of devices than `sharding` has ranks, or under
            "ulysses" ranks do not divide heads or an encoding needs all heads at once.

    Example:
        >>> from posenc import RoPE
        >>> sharding, x = Sharding(8, ranks=1, scheme="zigzag"), jnp.ones((1, 2, 8, 4))
        >>> options = {"sharding": sharding, "axis_name": "row", "layout": "bhtd", "encodings": [RoPE(dim=4)]}
        >>> mesh, along = jax.sharding.Mesh(jax.devices()[:1], ("row",)), jax.sharding.PartitionSpec(None, None, "row")
        >>> attended = jax.shard_map(
        ...     lambda x: sharded_attention(x, x, x, **options), mesh=mesh, in_specs=along, out_specs=along
        ... )
        >>> attended(x).shape
        (1, 2, 8, 4)
    """
    validation.instance("sharding", sharding, Sharding, "a Sharding of posenc.positions")
    check_arrays(q=q, k=k, v=v)
    bound = bound_encodings(encodings)
    inside = [one.encoding for one in bound]
    axes, positions = _checked_positions(checked_vectors(q, k, v, layout), inside, positions)
    check_hidden_is_read(hidden, inside)
    before, _ = checked_window(None, sliding_window, causal=validation.truth("causal", causal))
    checked_scale(scale, q)
    tokens, read = 2 if layout == "bhtd" else 1, {} if hidden is None else {"hidden": (hidden, 1)}
    rank = _checked_rank(sharding, validation.text("axis_name", axis_name))
    _check_tokens(sharding, {"q": (q, tokens), "k": (k, tokens), **read})

    def gathered(x: Array, axis: int) -> Array:
        return sharding.unshard(list(jax.lax.all_gather(x, axis_name)), axis=axis)

    own = jnp.asarray(np.stack([sharding.indices(each) for each in range(sharding.ranks)]))[rank]
    number = jnp.asarray(documents(sharding.lengths))  # type: ignore[arg-type]
    at_keys = jnp.asarray(packed(sharding.lengths)) if positions is None else None  # type: ignore[arg-type]
    if at_keys is None:
        at_keys = gathered(positions, -1 if axes == 1 else -2)
    several = len(sharding.lengths) > 1  # type: ignore[arg-type]
    at_queries = at_keys[own] if positions is None else positions
    if sharding.scheme == "ulysses":
        options = {"causal": causal, "sliding_window": sliding_window, "scale": scale}
        numbers = (number, number) if several else None
        return _exchanged((q, k, v), layout, at_queries, at_keys, bound, sharding, axis_name, numbers, options)
    return attention(
        q,
        gathered(k, tokens),
        gathered(v, tokens),
        query_positions=at_queries,
        key_positions=at_keys,
        layout=layout,
        encodings=encodings,
        mask=_visible_tokens(own, sharding.tokens, before) if causal else None,
        documents=(number[own], number) if several else None,
        hidden=_hidden(inside, hidden, None if hidden is None else gathered(hidden, 1)),
        scale=scale,
    )


def _exchanged(
    vectors: tuple[Array, Array, Array],
    layout: Layout,
    at_queries: Array,
    at_keys: Array,
    bound: Sequence[Bound],
    sharding: Sharding,
    axis_name: str,
    numbers: tuple[Array, Array] | None,
    options: Mapping[str, Any],
) -> Array:
    """Attend under "ulysses": the whole row with the heads of this device."""
    q, k, v = (x if layout == "bhtd" else x.swapaxes(1, 2) for x in vectors)
    check_heads_divide(bound, sharding, q.shape[1])
    packed_at = jnp.asarray(packed(sharding.lengths))  # type: ignore[arg-type]

    def attend(q: Array, k: Array, v: Array, some: Sequence[Bound]) -> Array:
        at = at_keys if some else packed_at  # rotations that came before may have had several coordinates
        places = {"query_positions": at, "key_positions": at, "documents": numbers}
        return attention(q, k, v, layout="bhtd", encodings=some, **places, **options)

    output = attend_by_heads((q, k, v), at_queries, bound, sharding, axis_name, attend)
    return output if layout == "bhtd" else output.swapaxes(1, 2)


def _checked_positions(
    vectors: tuple[Array, Array, Array], inside: Sequence[Encoding], positions: Any
) -> tuple[int, Array | None]:
    """Check that encodings and positions fit; return the number of coordinates and the positions, or None."""
    q, _, v = vectors
    axes = number_of_axes(inside)
    for encoding in inside:
        check_fits(encoding, q, v)
    return axes, None if positions is None else token_positions("positions", positions, q, axes).array


def _check_tokens(sharding: Sharding, held: Mapping[str, tuple[Any, int]]) -> None:
    """Refuse arrays, each with its axis of tokens, that do not hold this device's tokens."""
    for name, (x, axis) in held.items():
        validation.instance(name, x, jax.Array, "a JAX array")
        if x.ndim <= axis or x.shape[axis] != sharding.tokens_of_rank:
            raise ValueError(
                f"{name} must have the tokens of one device, {sharding.tokens_of_rank} of {sharding.tokens}; got shape "
                f"{x.shape}. Divide the row as sharding says, and check the layout."
            )


def _checked_rank(sharding: Sharding, axis_name: str) -> Array:
    """Number of this device on the axis."""
    try:
        devices = jax.lax.psum(1, axis_name)
    except NameError:
        raise ValueError(
            f"axis_name must be an axis of the mesh, inside jax.shard_map; got {axis_name!r}. Call it there."
        ) from None
    if devices != sharding.ranks:
        raise ValueError(
            f"axis_name must be an axis of as many devices as sharding has ranks, {sharding.ranks}; got {devices}. "
            "Make the sharding for this mesh."
        )
    return jax.lax.axis_index(axis_name)


def _visible_tokens(own: Array, tokens: int, before: int | None) -> Array:
    """Mask (1, 1, n, m): whether the tokens of this device may see those of the row."""
    ahead = own[:, None] - jnp.arange(tokens)
    sees = ahead >= 0
    return (sees if before is None else sees & (ahead <= before))[None, None]


def _hidden(encodings: Sequence[Encoding], own: Array | None, whole: Array | None) -> Array | None:
    """Inputs of the layer where the encodings read them: at own tokens, at the whole row, or at both in turn."""
    reads = next((each.reads for each in encodings if isinstance(each, AttentionScore) and each.reads), None)
    if own is None or whole is None or reads == "query":
        return own
    return jnp.concatenate([own, whole], 1) if reads == "both" else whole
