"""JAX keys and traced seeds, positions of the host, layouts with and without a batch, and grouped heads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc import ALiBi, Learned, Partial, PoPE, RoPE, Shaw
from posenc.catalog import row
from posenc.jax import as_positions, bind, parameters
from samples import by_night

AXIAL = row("AxialRoPE").samples[0]
LIERE = replace(row("LieRE").samples[0], heads=6)
LEARNED = Learned(dim=4, length=8)


def table(seed: Any) -> jax.Array:
    return parameters(LEARNED, seed)["table"]


def test_keys_and_traced_seeds_draw_what_concrete_ones_draw() -> None:
    key, keys = jax.random.key(3), jax.random.split(jax.random.key(4), 2)
    assert jnp.array_equal(jax.jit(table)(key), table(key))
    assert jnp.array_equal(table(jax.random.PRNGKey(3)), table(key))
    assert jnp.array_equal(jax.jit(table)(7), table(7))
    assert jnp.array_equal(table(jnp.int32(7)), table(7))
    mapped = jax.vmap(lambda key: bind(LEARNED, key))(keys).params["table"]
    assert jnp.array_equal(mapped, jnp.stack([table(key) for key in keys]))
    assert not jnp.array_equal(*mapped)
    assert jax.eval_shape(table, key).shape == (8, 4)
    assert jax.jit(lambda key: parameters(RoPE(dim=4), key))(key) == {}
    assert bool(jnp.isnan(jax.jit(table)(-1)).all())  # what cannot be refused while tracing
    for seed in (keys, jnp.ones(()), jnp.arange(3), jnp.ones((2,), jnp.int32)):
        with pytest.raises(TypeError, match=r"^seed must be a whole number or one key of jax\.random; got "):
            table(seed)
    with pytest.raises(ValueError, match=r"^seed must be an integer from 0"):
        table(jnp.int32(-1))


def test_positions_that_32_bits_do_not_hold_are_refused_before_jit_converts_them() -> None:
    rotation = jax.jit(lambda positions: RoPE(dim=4).rotation(positions).cos)
    assert jnp.array_equal(rotation(as_positions(np.arange(3))), RoPE(dim=4).rotation(jnp.arange(3)).cos)
    assert jnp.array_equal(as_positions(jnp.arange(3)), as_positions([0, 1, 2]))
    for far in (np.array([0, 2**31]), np.array([-(2**33)]), [2**31]):
        with pytest.raises(ValueError, match=r"^positions must be below 2\^31"):
            as_positions(far)
    with jax.enable_x64(True):
        assert int(as_positions(np.array([2**40]))[0]) == 2**40


def rows(rotation: Any, x: jax.Array) -> jax.Array:
    """By the layout (batch, time, heads, width), which other tests compare with the definition."""
    return rotation(x, layout="bthd")


#: By day one table for all heads and one for each; the others by night, since JAX compiles each operation anew.
EVERY_HEAD = (RoPE(dim=8), PoPE(dim=8, heads=6))


@pytest.mark.parametrize(
    "encoding", by_night([*EVERY_HEAD, Partial(RoPE(dim=4), dim=8), AXIAL, LIERE], daily=EVERY_HEAD)
)
@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_layouts_without_a_batch_and_with_grouped_heads(encoding: Any, batch: int) -> None:
    """Three key heads with two queries each; also where each of six heads has a table of its own."""
    rng = np.random.default_rng(0)
    shape = (5,) if encoding.axes == 1 else (5, encoding.axes)
    at = jnp.asarray(rng.integers(0, 1000, shape if batch == 1 else (batch, *shape)), jnp.int32)
    rotation = encoding.rotation(at, parameters(encoding) or None, role="query")
    x = jnp.asarray(rng.standard_normal((2, 5, 3, 2, encoding.head_dim)), jnp.float32)
    expected = rows(rotation, x.reshape(2, 5, 6, encoding.head_dim))
    assert jnp.array_equal(rotation(x, layout="btkgd").reshape(expected.shape), expected)
    if batch == 1:
        assert jnp.array_equal(rotation(x[0].reshape(5, 6, encoding.head_dim), layout="thd"), expected[0])
    else:
        with pytest.raises(ValueError, match=r"^x must have as many tokens as the rotation has positions"):
            rotation(x[0].reshape(5, 6, encoding.head_dim), layout="thd")


def test_rotate_with_grouped_queries_takes_keys_by_key_head() -> None:
    rope, at = bind(RoPE(dim=8)), jnp.arange(5)
    rng = np.random.default_rng(0)
    q, k = (jnp.asarray(rng.standard_normal(shape), jnp.float32) for shape in ((2, 5, 3, 2, 8), (2, 5, 3, 8)))
    grouped, keys = rope.rotate(q, k, at, at, layout="btkgd")
    flat, expected = rope.rotate(q.reshape(2, 5, 6, 8), k, at, at, layout="bthd")
    assert jnp.array_equal(grouped.reshape(flat.shape), flat)
    assert jnp.array_equal(keys, expected)
    for layout, shape, count in (("thd", (1, 5, 2, 8), "three"), ("btkgd", (1, 5, 2, 8), "five")):
        with pytest.raises(ValueError, match=rf"^x must have {count} axes, '{layout}'; got shape"):
            RoPE(dim=8).rotation(at)(jnp.ones(shape), layout=layout)


def test_a_score_of_grouped_heads_is_that_of_repeated_keys() -> None:
    shaw, at = bind(Shaw(dim=8, clip=2)), jnp.arange(5)
    rng = np.random.default_rng(0)
    q, k = (jnp.asarray(rng.standard_normal((2, heads, 5, 8)), jnp.float32) for heads in (6, 3))
    assert jnp.array_equal(shaw.score(q, k, at, at), shaw.score(q, jnp.repeat(k, 2, 1), at, at))


def test_a_dense_bias_in_attention_of_jax_is_that_of_the_reference() -> None:
    """Grouped heads, a query for each of the last positions, and a causal mask by position."""
    from posenc.attention import attention

    rng = np.random.default_rng(0)
    q, k, v = (jnp.asarray(rng.standard_normal((2, n, h, 8)), jnp.float32) for n, h in ((3, 6), (7, 3), (7, 3)))
    query_positions, key_positions = jnp.arange(4, 7), jnp.arange(7)
    alibi, mask = bind(ALiBi(heads=6)), query_positions[:, None] >= key_positions
    got = jax.nn.dot_product_attention(
        q, k, v, bias=alibi.bias(query_positions, key_positions)[None], mask=mask[None, None]
    )
    expected = attention(
        *map(np.asarray, (q, k, v)),
        query_positions=np.asarray(query_positions),
        key_positions=np.asarray(key_positions),
        layout="bthd",
        encodings=[alibi.encoding],
        causal=True,
    ).output
    assert np.allclose(got, expected, rtol=0, atol=64 * 2.0**-24 * float(jnp.abs(v).max()))
