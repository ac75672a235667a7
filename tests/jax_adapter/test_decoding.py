"""Decoding from rotated keys, memory and lengths of compiled programs, float64, and what flax holds, in attention."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from jax import export

import posenc
from every import every
from jax_adapter.test_attention import SAMPLES, by_reference, case, close
from posenc.core.doors import RotaryEncoding
from posenc.jax import attention, bind, rotate_keys
from posenc.jax.flax import Module
from posenc.testing import budgets

ROPE = posenc.RoPE(dim=8)
#: But for PoPE, whose rotated keys are wider than queries.
ROTATIONS = [each for each in SAMPLES if isinstance(each, RotaryEncoding) and not isinstance(each, posenc.PoPE)]
AT = jnp.arange(6)
Q, K, V = (jnp.asarray(x) for x in np.random.default_rng(0).standard_normal((3, 2, 4, 6, 8)).astype(np.float32))


def check_rotated_keys(encoding: Any, layout: Any = "bhtd") -> None:
    asked = case(encoding)
    asked |= {"q": asked["q"][:, :, -1:], "query_positions": asked["query_positions"][-1:]}
    bound, order = jax.tree.map(lambda x: 1.5 * x + 0.25, bind(encoding)), (0, 2, 1, 3)
    asked["params"] = {name: np.asarray(value) for name, value in bound.params.items()}
    q, k, v = (jnp.asarray(asked[name]) for name in "qkv")
    q, k, v = (x.transpose(order) if layout == "bthd" else x for x in (q, k, v))
    k, v = rotate_keys(k, v, key_positions=asked["key_positions"], encodings=[bound], layout=layout)
    places = {name: asked[name] for name in ("query_positions", "key_positions")}
    got = attention(q, k, v, **places, encodings=[bound], layout=layout, keys_rotated=True)
    close(got.transpose(order) if layout == "bthd" else got, by_reference(encoding, asked), 2.0**-17)


def test_a_cache_of_rotated_keys_gives_what_unrotated_keys_give() -> None:
    check_rotated_keys(ROPE)


@pytest.mark.nightly
def test_a_cache_of_rotated_keys_gives_what_unrotated_keys_give_with_every_rotation_in_both_layouts() -> None:
    every(ROTATIONS, check_rotated_keys)
    every(ROTATIONS, lambda encoding: check_rotated_keys(encoding, "bthd"))


@pytest.mark.nightly
def test_decoding_in_a_scan_over_a_cache_of_fixed_length_is_the_whole_sequence() -> None:
    """Keys behind the query are zeros yet: their positions are its future, which a mask hides."""
    encodings = [ROPE, bind(posenc.T5Bias(heads=4))]
    given = {"encodings": encodings, "layout": "bhtd"}
    whole = attention(Q, K, V, query_positions=AT, key_positions=AT, causal=True, **given)

    def step(cache: Any, new: Any) -> Any:
        at, q, k, v = new
        pair = rotate_keys(k, v, key_positions=at[None], encodings=encodings, layout="bhtd")
        keys, values = (jax.lax.dynamic_update_slice_in_dim(x, y, at, 2) for x, y in zip(cache, pair, strict=True))
        seen = (at >= AT)[None, None, None]
        more = {"query_positions": at[None], "key_positions": AT, "mask": seen, "keys_rotated": True}
        return (keys, values), attention(q, keys, values, **more, **given)

    tokens = tuple(jnp.moveaxis(x, 2, 0)[:, :, :, None] for x in (Q, K, V))
    _, steps = jax.jit(lambda: jax.lax.scan(step, (jnp.zeros_like(K), jnp.zeros_like(V)), (AT, *tokens)))()
    close(jnp.moveaxis(steps[:, :, :, 0], 0, 2), np.asarray(whole, np.float64))


def test_rotations_alone_take_memory_linear_in_the_number_of_queries() -> None:
    def temporary(tokens: int) -> float:
        x, at = jax.ShapeDtypeStruct((1, 8, tokens, 64), jnp.float32), jax.ShapeDtypeStruct((tokens,), jnp.int32)
        given = {"encodings": [posenc.RoPE(dim=64)], "causal": True, "layout": "bhtd"}
        call = jax.jit(lambda x, at: attention(x, x, x, query_positions=at, key_positions=at, **given))
        return call.lower(x, at).compile().memory_analysis().temp_size_in_bytes / 2**20

    assert temporary(4096) < 64, "MiB; the logits of all pairs take 512"


FLOAT64 = """
import jax; jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp, numpy as np
from posenc import RoPE
from posenc.attention import attention as reference
from posenc.jax import attention

q, k, v = np.random.default_rng(0).standard_normal((3, 1, 2, 16, 8))
at = np.arange(16) + 100_000
given = {"query_positions": at, "key_positions": at, "encodings": [RoPE(dim=8)], "causal": True, "layout": "bhtd"}
error = abs(attention(*map(jnp.asarray, (q, k, v)), **given) - reference(q, k, v, **given).output).max()
assert error < 1e-14, error
try:
    attention(*map(jnp.asarray, (q, k, v)), **given, impl="dot_product")
except ValueError as refused:
    assert "it rounds the softmax of float64 to float32" in str(refused), refused
else:
    raise AssertionError("dot_product took float64")
"""


def test_float64_stays_float64_with_rotations_alone() -> None:
    command = [sys.executable, "-W", "ignore", "-c", FLOAT64]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
    assert ran.returncode == 0, ran.stderr


def check_symbolic_length(encoding: Any) -> None:
    """A program for every number of queries and keys, at 3 of 5 and at 150 of 152."""
    bound, given = bind(encoding, 3), {"layout": "bhtd"}
    queries, keys = export.symbolic_shape("queries, keys", constraints=["keys >= queries"])
    asked = case(encoding)
    hidden = asked["hidden"]

    def shape(x: np.ndarray, axis: int, length: Any, dtype: Any = jnp.float32) -> Any:
        return jax.ShapeDtypeStruct((*x.shape[:axis], length, *x.shape[axis + 1 :]), dtype)

    def call(q: Any, k: Any, v: Any, query: Any, key: Any, hidden: Any) -> Any:
        return attention(q, k, v, query_positions=query, key_positions=key, encodings=[bound], hidden=hidden, **given)

    inputs = None
    if hidden is not None:
        inputs = shape(hidden, 1, encoding.hidden_length(queries, keys))
    program = export.export(jax.jit(call))(
        shape(asked["q"], 2, queries), shape(asked["k"], 2, keys), shape(asked["v"], 2, keys),
        shape(asked["query_positions"], 0, queries, jnp.int32), shape(asked["key_positions"], 0, keys, jnp.int32),
        inputs,
    )  # fmt: skip
    for n, m in ((3, 5), (150, 152)):
        asked = case(encoding, n, m)
        asked["params"] = {name: np.asarray(value) for name, value in bound.params.items()}
        arguments = [asked[name] for name in ("q", "k", "v", "query_positions", "key_positions", "hidden")]
        arguments[3:5] = (x.astype(np.int32) for x in arguments[3:5])
        close(
            program.call(*arguments),
            by_reference(encoding, asked),
            2.0**-17 + 4 * budgets.angle(encoding, m, "float32"),
        )


def test_a_program_with_symbolic_lengths_attends_at_every_length() -> None:
    check_symbolic_length(posenc.ALiBi(heads=12))


@pytest.mark.nightly
def test_a_program_with_symbolic_lengths_attends_at_every_length_with_every_encoding() -> None:
    every(SAMPLES, check_symbolic_length)


class Block(nnx.Module):
    """Attention with encodings as flax holds them."""

    def __init__(self, encodings: Any) -> None:
        self.project, self.encodings = nnx.Linear(32, 96, rngs=nnx.Rngs(0)), nnx.List(encodings)

    def __call__(self, x: jax.Array) -> jax.Array:
        q, k, v = (part.reshape(*x.shape[:2], 4, 8) for part in jnp.split(self.project(x), 3, -1))
        given = {"query_positions": AT, "key_positions": AT, "encodings": list(self.encodings), "layout": "bthd"}
        return attention(q, k, v, causal=True, **given).reshape(x.shape)


@pytest.mark.parametrize(
    ("held", "optimiser"),
    [
        (lambda encoding: Module(encoding, rngs=nnx.Rngs(1)), optax.adam),
        # With Adam, flax 0.12 fails after the first step on an nnx.Param that holds more than an array, a dict say.
        pytest.param(lambda encoding: nnx.Param(bind(encoding)), optax.sgd, marks=pytest.mark.nightly),
    ],
    ids=["Module", "Param"],
)
def test_what_flax_holds_trains_inside_attention(held: Any, optimiser: Any) -> None:
    block, x = (
        Block([held(ROPE), held(posenc.T5Bias(heads=4))]),
        jnp.asarray(np.random.default_rng(1).standard_normal((2, 6, 32)), jnp.float32),
    )
    optimizer = nnx.Optimizer(block, optimiser(1e-2), wrt=nnx.Param)
    before = jax.tree.map(jnp.copy, nnx.state(block, nnx.Param))

    @nnx.jit
    def step(block: Block, optimizer: nnx.Optimizer) -> jax.Array:
        loss, gradient = nnx.value_and_grad(lambda block: ((block(x) - 1) ** 2).mean())(block)
        optimizer.update(block, gradient)
        return loss

    losses = [float(step(block, optimizer)) for _ in range(4)]
    assert losses == sorted(losses, reverse=True), losses
    after = nnx.state(block, nnx.Param)
    assert jax.tree.all(jax.tree.map(lambda old, new: bool((old != new).any()), before, after)), "all learn"


NONSENSE = [
    (
        lambda: attention(Q, K, V, query_positions=AT, key_positions=AT, encodings=[bind(posenc.CoPE(dim=8))],
                          layout="bhtd", keys_rotated=True),
        ValueError, "keys_rotated must be False for CoPE, which reads keys as they are",
    ),
    (
        lambda: attention(Q, K, V, query_positions=AT, key_positions=AT, layout="bhtd", keys_rotated=1),
        TypeError, "keys_rotated must be",
    ),
    (lambda: rotate_keys(K, np.asarray(V), key_positions=AT, encodings=[], layout="bhtd"), TypeError,
     "v must be a JAX array"),
    (lambda: rotate_keys(K, V.astype(jnp.bfloat16), key_positions=AT, encodings=[], layout="bhtd"), ValueError,
     "v must have the dtype of k, float32; got bfloat16"),
    (lambda: rotate_keys(K, V, key_positions=AT[1:], encodings=[ROPE], layout="bhtd"), ValueError,
     "key_positions must hold a position for each of 6 tokens"),
    (lambda: rotate_keys(K, V, key_positions=AT, encodings=[bind(posenc.PoPE(dim=8, heads=6))], layout="bhtd"),
     ValueError, "k must have a number of heads that divides 6"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), NONSENSE, ids=[message for _, _, message in NONSENSE])
def test_nonsense_about_rotated_keys_is_refused(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(message)
