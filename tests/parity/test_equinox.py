"""Against equinox 0.13.8, live, under JAX: half-split pairs; tables first, then rotated arrays."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
import pytest

from posenc import RoPE


@pytest.fixture(scope="module")
def rotary() -> Any:
    module = pytest.importorskip("equinox")
    assert version("equinox") == "0.13.8"
    return module.nn.RotaryPositionalEmbedding


@pytest.mark.parametrize(("dim", "base"), [(64, 10_000.0), (10, 100.0)])
def test_tables(rotary: Any, dim: int, base: float) -> None:
    import jax.numpy as jnp

    cosine, sine = rotary.precompute_freqs_cis(dim, 300, base, jnp.float32)
    rotation = RoPE(dim=dim, base=base).rotation(np.arange(300))
    # Power and quotient to 3 ulp, the angle rounds once: of angles below 300; then the wave.
    bound = 4 * 2.0**-23 * 300 + 2.0**-23
    assert np.abs(rotation.cos - np.asarray(cosine)).max() <= bound
    assert np.abs(rotation.sin - np.asarray(sine)).max() <= bound


def rotated(encoding: RoPE, x: Any) -> Any:
    import jax

    return jax.jit(lambda x: encoding.rotation(jax.numpy.arange(len(x)))(x))(x)


def test_rotated_arrays(rotary: Any) -> None:
    import jax.numpy as jnp

    x = jnp.asarray(np.random.default_rng(0).normal(size=(40, 34)), dtype=jnp.float32)
    theirs = rotary(34, theta=10_000.0, dtype=jnp.float32)(x)
    halves, adjacent = rotated(RoPE(dim=34, pairing="halves"), x), rotated(RoPE(dim=34), x)
    assert jnp.abs(halves - theirs).max() <= (4 * 40 + 4) * 2.0**-23 * jnp.abs(x).max()
    assert jnp.abs(adjacent - theirs).max() > 0.5


def test_the_peers_cache_does_not_know_its_base(rotary: Any) -> None:
    """Its tables are kept by width and dtype: a second module of another base rotates by the base of the first."""
    import jax.numpy as jnp

    x = jnp.ones((50, 38), dtype=jnp.float32)
    first, second = (rotary(38, theta=base, dtype=jnp.float32)(x) for base in (10_000.0, 500_000.0))
    assert jnp.array_equal(first, second)
    assert jnp.abs(second - rotated(RoPE(dim=38, base=500_000.0, pairing="halves"), x)).max() > 1
