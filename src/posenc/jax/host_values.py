"""Values of the host for JAX: positions, checked before JAX converts them, and fresh parameters."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.arrays.jax_library import Jax
from posenc.core.checked_positions import checked
from posenc.core.doors import Encoding


def as_positions(positions: Array) -> Array:
    """Convert positions to a JAX array for an argument of a compiled function.

    `jax.jit` converts a NumPy argument before the function sees it, and without `jax_enable_x64` cuts a whole number to
    32 bits, silently. Here such a number is still seen.

    Args:
        positions: Positions, a list or an array of NumPy or JAX.

    Returns:
        The same positions, int32 or float32 without `jax_enable_x64`.

    Raises:
        TypeError: `positions` are no numbers.
        ValueError: `positions` are 2^31 or more, or floats that float32 does not hold, without `jax_enable_x64`.

    Example:
        >>> as_positions(np.arange(3)).dtype
        dtype('int32')
    """
    return checked(arrays.as_array("positions", positions, Jax())).array


def parameters(encoding: Encoding, seed: int | Array = 0) -> dict[str, Array]:
    """Draw the parameters of an encoding.

    Args:
        encoding: Encoding.
        seed: Whole number from 0, which gives the parameters that `posenc.torch.module(encoding, seed=seed)` begins
            with, or one key of `jax.random`. Under `jit` and `vmap` either may be traced: the host then draws while the
            program runs.

    Returns:
        Float32 arrays by name; empty where nothing is learned.

    Raises:
        TypeError: `encoding` is no encoding, or `seed` neither a whole number nor one key.
        ValueError: `seed` is negative; a traced one gives NaN.

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
    """Check an array given as seed; return an integer scalar as it is, and the uint32 words of a key."""
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
    """Draw parameters on the host."""
    numbers = np.asarray(words).tolist()
    if not isinstance(numbers, list) and numbers < 0:  # a traced seed, which could not be refused while tracing
        return {name: np.full(shape, np.nan, np.float32) for name, shape in encoding.shapes.items()}
    drawn = encoding.init(np.random.default_rng(numbers))
    return {name: np.asarray(value, np.float32) for name, value in drawn.items()}
