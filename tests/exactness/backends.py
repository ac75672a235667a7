"""The same question put to NumPy, PyTorch and JAX; every answer comes back as NumPy arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import torch

from posenc.phase import Frequencies, cosine_sine


def numpy_waves(positions: object, frequencies: Frequencies, dtype: str) -> tuple[np.ndarray, ...]:
    return cosine_sine(np.asarray(positions), frequencies, dtype=np.dtype(dtype))


def torch_waves(positions: object, frequencies: Frequencies, dtype: str) -> tuple[np.ndarray, ...]:
    place = torch.from_numpy(np.asarray(positions))
    return tuple(part.numpy() for part in cosine_sine(place, frequencies, dtype=getattr(torch, dtype)))


def jax_waves(positions: object, frequencies: Frequencies, dtype: str) -> tuple[np.ndarray, ...]:
    # Jitted, for speed alone: test_traced.py compares with the bits of single operations.
    with jax.enable_x64(True):
        program = jax.jit(lambda places: cosine_sine(places, frequencies, dtype=dtype))
        return tuple(np.asarray(part) for part in program(jnp.asarray(positions)))


WAVES = {"numpy": numpy_waves, "torch": torch_waves, "jax": jax_waves}
