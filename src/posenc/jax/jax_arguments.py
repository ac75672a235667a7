"""Arguments of attention in JAX, checked before any path is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_attention import Window, check_inside, check_learns_nothing, check_list, check_mask_axes
from posenc.core.doors import Encoding
from posenc.jax.bound import Bound, as_bound


@dataclass(frozen=True, eq=False)
class JaxArguments:
    """Arguments of attention, checked.

    Args:
        q: Queries (batch, heads, n, d).
        k: Keys (batch, key heads, m, d).
        v: Values (batch, key heads, m, width).
        query_positions: Positions of the queries.
        key_positions: Positions of the keys.
        encodings: Bound encodings, in the order in which they act.
        causal: Whether a query sees no key behind its own index.
        window: Keys before and after its own index that a query sees.
        mask: True where a query may see a key, or None.
        documents: Numbers of the documents of queries and keys, or None.
        hidden: Input of the layer, or None.
        scale: Factor of the logits.
        keys_rotated: Whether k and v come from `rotate_keys`.
        guard: Number that is added to the output, NaN where positions contradict a mask by index; None where they
            agree.
    """

    q: Array
    k: Array
    v: Array
    query_positions: Array
    key_positions: Array
    encodings: tuple[Bound, ...]
    causal: bool
    window: Window
    mask: Array | None
    documents: tuple[Array, Array] | None
    hidden: Array | None
    scale: float
    keys_rotated: bool
    guard: Array | None

    def of(self, door: type[Encoding]) -> list[Any]:
        """Bound encodings of one door."""
        return [bound for bound in self.encodings if isinstance(bound.encoding, door)]


def check_arrays(**vectors: Array) -> None:
    """Refuse queries, keys and values that are no JAX arrays of floats of one dtype."""
    first, like = next(iter(vectors.items()))
    for name, x in vectors.items():
        validation.instance(name, x, jax.Array, "a JAX array")
        if x is like:
            arrays.floats(first, x)
        elif x.dtype != like.dtype:
            raise ValueError(f"{name} must have the dtype of {first}, {like.dtype}; got {x.dtype}. Convert it.")


def bound_encodings(encodings: Any) -> tuple[Bound, ...]:
    """Bind the encodings that act inside attention and are not bound yet; those that learn must be."""
    check_list(encodings, "encodings and of what bind gives")
    found = []
    for one in encodings:
        bound = None if isinstance(one, Encoding) else as_bound(one)
        encoding = one if bound is None else bound.encoding
        check_inside(encoding, "posenc.jax.bind(encoding).add(x, positions)")
        if bound is None:
            check_learns_nothing(encoding, "posenc.jax.bind(encoding)")
        found.append(Bound(encoding, {}) if bound is None else bound)
    return tuple(found)


def checked_mask(mask: Any, q: Array, k: Array) -> Array | None:
    """Return a mask as truth values with four axes that fit q and k; None for none."""
    if mask is None:
        return None
    mask = arrays.as_mask("mask", mask, like=q)
    check_mask_axes(mask, q, k)
    return mask
