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

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.doors import AttentionBias, AttentionScore
from posenc.jax.bound import Bound


@dataclass(frozen=True, eq=False)
class Block:
    """Function of one block, and the arrays that it needs besides its arguments.

    Attributes:
        constants: Inputs of the kernel, each as a whole.
        jaxpr: The traced function.
    """

    constants: tuple[Array, ...]
    jaxpr: Any

    def __call__(self, constants: Sequence[Array], *arguments: Array) -> Array:
        """Compute the block.

        Args:
            constants: The constants, as the kernel reads them.
            arguments: Arguments of the block, as `bias_block` or `score_block` says.

        Returns:
            The block.
        """
        (block,) = jaxpr_as_fun(ClosedJaxpr(self.jaxpr, constants))(*arguments)
        return block


def bias_block(bound: Bound, queries: int, keys: int, *, dtype: Any = None) -> Block:
    """Trace the bias of one head for a block of queries and keys.

    The result is called as block(constants, head, query_positions, key_positions): an int32 scalar, and int32 positions
    (queries,) and (keys,), with a last axis of coordinates where the encoding has several. A head that does not exist
    gives NaN.

    Args:
        bound: Bound encoding of the door "biases".
        queries: Queries in a block.
        keys: Keys in a block.
        dtype: Float dtype of the bias; None for float32.

    Returns:
        Function that gives the bias (queries, keys).

    Raises:
        TypeError: `bound` is not bound or of another door, or a count is no whole number.
        ValueError: `queries` or `keys` is below 1.

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
    """Trace the scores of all heads for a block of queries and keys.

    The result is called as block(constants, q, k, query_positions, key_positions), with positions as for `bias_block`.

    Args:
        bound: Bound encoding of the door "scores".
        q: Queries that the kernel will hand in, (heads, queries, d): an array, or its `jax.ShapeDtypeStruct`.
        k: Keys that the kernel will hand in, (key heads, keys, d): an array, or its `jax.ShapeDtypeStruct`.

    Returns:
        Function that gives the scores (heads, queries, keys).

    Raises:
        TypeError: `bound` is not bound or of another door.
        ValueError: The score reads the keys between a query and a key, or the input of the layer, and so has no block.

    Example:
        >>> from posenc import Shaw
        >>> from posenc.jax import bind
        >>> q = k = jnp.ones((2, 3, 4))
        >>> block = score_block(bind(Shaw(dim=4, clip=2)), q, k)
        >>> block(block.constants, q, k, jnp.arange(3), jnp.arange(3)).shape
        (2, 3, 3)
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

    for name, part in (("q", q), ("k", k)):
        if arrays.floats(name, part).ndim < 3 or arrays.library_name(part) == "torch":
            raise ValueError(
                f"{name} must be an array of JAX or NumPy (heads, n, dim); got {type(part).__name__} of shape "
                f"{tuple(part.shape)}. Give whole heads."
            )
        validation.integer(f"{name}, counted in tokens,", part.shape[-2], 1)
    content = [jax.ShapeDtypeStruct(part.shape, part.dtype) for part in (q, k)]
    return _traced(block, *content, *_positions(encoding, q.shape[-2], k.shape[-2]))


def _positions(encoding: Any, queries: int, keys: int) -> list[jax.ShapeDtypeStruct]:
    """Shapes of the positions of a block."""
    last = () if encoding.axes == 1 else (encoding.axes,)
    counts = [validation.integer(name, count, 1) for name, count in (("queries", queries), ("keys", keys))]
    return [jax.ShapeDtypeStruct((count, *last), jnp.int32) for count in counts]


def _traced(block: Callable[..., Array], *arguments: jax.ShapeDtypeStruct) -> Block:
    """Trace a block, whose constants become its inputs."""
    closed = jax.make_jaxpr(block)(*arguments)
    return Block(tuple(jnp.asarray(constant) for constant in closed.consts), closed.jaxpr)
