"""A block of a bias or of a score from the positions of its queries and keys, for a Pallas kernel.

A Pallas kernel takes arrays as inputs alone: it may not close over a table of slopes or over parameters. A `Block`
lists these as `constants`, which are handed to `pallas_call` with the other inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.doors import AttentionBias, AttentionScore
from posenc.jax.bound import Bound


@dataclass(frozen=True, eq=False)
class Block:
    """A function of one block, and the arrays that it needs besides its arguments.

    Args:
        constants: Inputs of the kernel, each as a whole.
    """

    constants: tuple[Array, ...]
    jaxpr: Any

    def __call__(self, constants: Sequence[Array], *arguments: Array) -> Array:
        """The block from the constants, as the kernel reads them, and the arguments."""
        (block,) = jaxpr_as_fun(ClosedJaxpr(self.jaxpr, constants))(*arguments)
        return block


def bias_block(bound: Bound, queries: int, keys: int, *, dtype: Any = None) -> Block:
    """The bias of one head for a block: block(constants, head, query, key) of shape (queries, keys).

    head: an int32 scalar. query_positions, key_positions: int32 positions (queries,) and (keys,), with a last axis of
    coordinates where the encoding has several.

    Example:
        >>> from posenc import ALiBi
        >>> from posenc.jax import bind
        >>> block = bias_block(bind(ALiBi(heads=2)), queries=1, keys=3)
        >>> block(block.constants, jnp.int32(1), jnp.array([2]), jnp.arange(3)).tolist()
        [[-0.0078125, -0.00390625, 0.0]]
    """
    validation.instance("bound", bound, Bound, "a bound encoding; bind it first")
    encoding: Any = validation.instance(
        "bound.encoding", bound.encoding, AttentionBias, "an encoding of the door 'biases'"
    )

    def block(head: Array, query_positions: Array, key_positions: Array) -> Array:
        return encoding.bias(head, query_positions[:, None], key_positions[None, :], bound.params, dtype=dtype)

    return _traced(block, jax.ShapeDtypeStruct((), jnp.int32), *_positions(encoding, queries, keys))


def score_block(bound: Bound, q: Any, k: Any) -> Block:
    """The scores of all heads for a block: block(constants, q, k, query, key) of shape (heads, queries, keys).

    A score that reads the keys between a query and a key, or the input of the layer, has no block of its own and raises
    ValueError.

    Args:
        q: What the kernel will hand in, (heads, queries, d) and (key heads, keys, d): arrays, or shapes and dtypes as
            `jax.ShapeDtypeStruct`. query_positions, key_positions: int32 positions as for `bias_block`.
        k: What the kernel will hand in, (heads, queries, d) and (key heads, keys, d): arrays, or shapes and dtypes as
            `jax.ShapeDtypeStruct`. query_positions, key_positions: int32 positions as for `bias_block`.
    """
    validation.instance("bound", bound, Bound, "a bound encoding; bind it first")
    encoding: Any = validation.instance(
        "bound.encoding", bound.encoding, AttentionScore, "an encoding of the door 'scores'"
    )
    if encoding.gathers or encoding.reads:
        reason = "reads the keys in between" if encoding.gathers else "reads the input of the layer"
        raise ValueError(
            f"bound.encoding must score a query and a key alone; got {type(encoding).__name__}, which {reason}. "
            "Use its score for all keys."
        )

    def block(q: Array, k: Array, query_positions: Array, key_positions: Array) -> Array:
        return encoding.score(q, k, query_positions, key_positions, bound.params)

    content = [jax.ShapeDtypeStruct(part.shape, part.dtype) for part in (q, k)]
    return _traced(block, *content, *_positions(encoding, q.shape[-2], k.shape[-2]))


def _positions(encoding: Any, queries: int, keys: int) -> list[jax.ShapeDtypeStruct]:
    last = () if encoding.axes == 1 else (encoding.axes,)
    counts = [validation.integer(name, count, 1) for name, count in (("queries", queries), ("keys", keys))]
    return [jax.ShapeDtypeStruct((count, *last), jnp.int32) for count in counts]


def _traced(block: Callable[..., Array], *arguments: jax.ShapeDtypeStruct) -> Block:
    closed = jax.make_jaxpr(block)(*arguments)
    return Block(tuple(jnp.asarray(constant) for constant in closed.consts), closed.jaxpr)
