"""Fresh parameters from a seed or from a JAX key, also where only the running program knows it."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.doors import Encoding


def parameters(encoding: Encoding, seed: int | Array = 0) -> dict[str, Array]:
    """What an encoding learns, drawn from the seed, as float32 arrays; empty when nothing is.

    Args:
        seed: A whole number, with the numbers that `posenc.torch.module(encoding, seed=seed)` begins with; or a key of
            `jax.random`. Under `jit` and `vmap` either may be traced: the host then draws while the program runs.

    Example:
        >>> from posenc import Learned, RoPE
        >>> parameters(RoPE(dim=8))
        {}
        >>> parameters(Learned(dim=4, length=8), jax.random.key(0))["table"].shape
        (8, 4)
    """
    validation.instance("encoding", encoding, Encoding, "an encoding")
    if not isinstance(seed, jax.Array):
        words: Any = validation.integer("seed", seed, 0, 2**63 - 1)
    elif isinstance(words := _words(seed), jax.core.Tracer):
        shapes = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in encoding.shapes.items()}
        return jax.pure_callback(partial(_drawn, encoding), shapes, words, vmap_method="sequential") if shapes else {}
    elif not words.shape:
        words = validation.integer("seed", int(words), 0, 2**63 - 1)
    return {name: jnp.asarray(value) for name, value in _drawn(encoding, words).items()}


def _words(seed: Array) -> Array:
    """A whole number, or the words of a key."""
    if jax.dtypes.issubdtype(seed.dtype, jax.dtypes.prng_key):
        if not seed.shape:
            return jax.random.key_data(seed)
    elif arrays.kind(seed) == "integer" and (not seed.shape or (seed.shape == (2,) and seed.dtype == jnp.uint32)):
        return seed
    raise TypeError(
        f"seed must be a whole number or one key of jax.random; got {seed.dtype} of shape {tuple(seed.shape)}. "
        "Give jax.random.key(0), or map over several keys with jax.vmap."
    )


def _drawn(encoding: Encoding, words: Any) -> dict[str, np.ndarray]:
    numbers = np.asarray(words).tolist()
    if not isinstance(numbers, list) and numbers < 0:  # a traced seed, which could not be refused while tracing
        return {name: np.full(shape, np.nan, np.float32) for name, shape in encoding.shapes.items()}
    drawn = encoding.init(np.random.default_rng(numbers))
    return {name: np.asarray(value, np.float32) for name, value in drawn.items()}
