"""Rotations in JAX's attention: of queries, keys and values, of keys for a cache, and of the output back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.checked_attention import checked_vectors, number_of_axes, repeated, token_positions
from posenc.core.doors import Encoding, Role, RotaryEncoding
from posenc.core.rotation import Layout
from posenc.jax.bound import Bound, DoorMethods
from posenc.jax.jax_arguments import JaxArguments, bound_encodings, check_arrays


@arrays.broadcasting
def rotate_keys(
    k: Array, v: Array, *, key_positions: Array, encodings: Sequence[Encoding | DoorMethods], layout: Layout
) -> tuple[Array, Array]:
    """Rotate keys and values once, when they enter a cache; `attention` takes them with `keys_rotated=True`.

    A cache that holds them so rotates each key once, and not again in every step of decoding.

    Args:
        k: Keys, (batch, key heads, m, d) for layout "bhtd".
        v: Values, (batch, key heads, m, width).
        key_positions: (m,) or (batch, m), with a last axis of coordinates for encodings that have several.
        encodings: Those of attention; biases are passed over.
        layout: Order of the axes of k and v, "bhtd" or "bthd".

    Returns:
        Rotated k and v; repeated for the heads of queries where these have rotations of their own.

    Raises:
        TypeError: k or v is no JAX array, or `encodings` is no list of encodings.
        ValueError: k, v and positions do not belong together.

    Example:
        >>> import jax.numpy as jnp
        >>> from posenc import RoPE
        >>> from posenc.jax import attention
        >>> q, k, at, encodings = jnp.ones((1, 2, 1, 8)), jnp.ones((1, 2, 5, 8)), jnp.arange(5), [RoPE(dim=8)]
        >>> cached, values = rotate_keys(k, k, key_positions=at, encodings=encodings, layout="bhtd")
        >>> given = {"query_positions": at[4:], "key_positions": at, "encodings": encodings, "layout": "bhtd"}
        >>> output = attention(q, cached, values, keys_rotated=True, **given)
        >>> bool(jnp.allclose(output, attention(q, k, k, **given), atol=1e-6))
        True
    """
    check_arrays(k=k, v=v)
    _, k, v = checked_vectors(k, k, v, layout)
    bound = bound_encodings(encodings)
    axes = number_of_axes([one.encoding for one in bound])
    positions = token_positions("key_positions", key_positions, k, axes).array
    k, v = _rotated_keys(bound, k, v, positions)
    return (k, v) if layout == "bhtd" else (k.swapaxes(1, 2), v.swapaxes(1, 2))


def rotated_vectors(arguments: JaxArguments, q: Array, k: Array, v: Array) -> tuple[Array, Array, Array]:
    """Rotate queries, and keys and values that do not come rotated."""
    for bound in _rotations(arguments.encodings):
        if "value" not in bound.encoding.roles:
            q = _rotated_at(bound, q, arguments.query_positions, "query")
    if arguments.keys_rotated:
        return q, k, v
    return q, *_rotated_keys(arguments.encodings, k, v, arguments.key_positions)


def rotated_back(arguments: JaxArguments, output: Array, query_positions: Array) -> Array:
    """Rotate the output of queries at these positions back, where values were rotated."""
    for bound in _rotations(arguments.encodings)[::-1]:
        if "value" in bound.encoding.roles:
            output = _rotated_at(bound, output, query_positions, "output")
    return output


def _rotated_keys(encodings: Sequence[Bound], k: Array, v: Array, positions: Array) -> tuple[Array, Array]:
    """Rotate keys and values; repeat them first for all query heads where each head has a rotation of its own."""
    for bound in _rotations(encodings):
        if own := getattr(bound.encoding, "heads", None):
            k, v = repeated(k, own), repeated(v, own)
        if "value" in bound.encoding.roles:
            v = _rotated_at(bound, v, positions, "value")
        else:
            k = _rotated_at(bound, k, positions, "key")
    return k, v


def _rotations(encodings: Sequence[Bound]) -> list[Any]:
    return [bound for bound in encodings if isinstance(bound.encoding, RotaryEncoding)]


def _rotated_at(bound: Any, x: Array, positions: Array, role: Role) -> Array:
    """Rotate x, (batch, heads, tokens, width), at its positions."""
    wide = arrays.library(x).wide_dtype(x.dtype)
    return bound.encoding.rotation(positions, bound.params, role=role, dtype=wide)(x, layout="bhtd")
