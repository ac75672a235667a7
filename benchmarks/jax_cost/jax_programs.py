"""Compiled programs of JAX: attention of a whole sequence and of one query against a cache, rotations and a table,
against `jax.nn.dot_product_attention` and the formulas as one writes them by hand.

JAX computes on threads of its own, so the processor's time is that of the whole process, with one thread for products.
"""

from __future__ import annotations

import os
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from measuring.measure import Maker, Variant, compared

from posenc import ALiBi, RoPE, Sinusoidal, T5Bias
from posenc.attention import attention as reference
from posenc.jax import attention, bind, rotate_keys

HEADS, KEY_HEADS, DIM = 8, 2, 64
KEYS, TOKENS, ROWS, WIDTH = 4096, 2048, 10_000, 512
PLAIN, ATTENTION = "jax.nn.dot_product_attention", "posenc.jax.attention"
FORMULA, POSENC = "the plain formula", "posenc"
NAMES = ("RoPE", "ALiBi", "T5")


def run() -> list[dict[str, Any]]:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"  # read when the first array is made
    return [*(decoding(name) for name in NAMES), *(prefill(name) for name in NAMES), rotating(), table()]


def encoding(name: str) -> Any:
    return {"RoPE": RoPE(dim=DIM, pairing="halves"), "ALiBi": ALiBi(heads=HEADS), "T5": T5Bias(heads=HEADS)}[name]


def decoding_title(name: str) -> str:
    return f"JAX, {name}, a query against {KEYS} keys"


def prefill_title(name: str) -> str:
    return f"JAX, {name}, {TOKENS} tokens"


ROTATING = f"JAX, RoPE, q and k of {TOKENS} tokens rotated"
TABLE = f"JAX, sinusoidal table of {ROWS} × {WIDTH}"


def decoding(name: str) -> dict[str, Any]:
    """One query of one sequence; the cache holds keys as `rotate_keys` gives them."""
    bound, at = bind(encoding(name)), jnp.arange(KEYS)
    q, k, v = vectors(1, KEYS)
    cached = rotate_keys(k, v, key_positions=at, encodings=[bound], layout="bthd")
    given = {"query_positions": at[-1:], "key_positions": at}
    step = jax.jit(
        lambda q, k, v, bound, places: attention(
            q, k, v, **places, encodings=[bound], causal=True, keys_rotated=True, layout="bthd"
        )
    )
    makers = {
        PLAIN: floor(jax.jit(jax.nn.dot_product_attention), q, k, v),
        ATTENTION: timed(step, q, *cached, bound, given),
    }
    return case(decoding_title(name), PLAIN, makers, by_reference(bound, q, k, v, given), 1e-5)


def prefill(name: str) -> dict[str, Any]:
    """Causal attention of a whole sequence."""
    bound, at = bind(encoding(name)), jnp.arange(TOKENS)
    q, k, v = vectors(TOKENS, TOKENS)
    given = {"query_positions": at, "key_positions": at}
    whole = jax.jit(
        lambda q, k, v, bound, places: attention(q, k, v, **places, encodings=[bound], causal=True, layout="bthd")
    )
    makers = {
        PLAIN: floor(jax.jit(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True)), q, k, v),
        ATTENTION: timed(whole, q, k, v, bound, given),
    }
    return case(prefill_title(name), PLAIN, makers, by_reference(bound, q, k, v, given), 1e-5)


def rotating() -> dict[str, Any]:
    """Queries and keys of a sequence, with cosines and sines made in the program."""
    rope, at = encoding("RoPE"), jnp.arange(TOKENS)
    q, k, _ = vectors(TOKENS, TOKENS)

    def by_hand(q: Any, k: Any, at: Any) -> Any:
        angle = at[:, None] * jnp.exp(jnp.arange(DIM // 2) * (-np.log(10_000.0) / (DIM // 2)))
        cosine, sine = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
        halves = ((x[..., : DIM // 2], x[..., DIM // 2 :]) for x in (q, k))
        return [jnp.concatenate([a * cosine - b * sine, b * cosine + a * sine], -1) for a, b in halves]

    ours = jax.jit(lambda q, k, at: bind(rope).rotate(q, k, at, at, layout="bthd"))
    makers = {FORMULA: floor(jax.jit(by_hand), q, k, at), POSENC: timed(ours, q, k, at)}
    exact = rope.rotation(np.arange(TOKENS))
    expected = tuple(as_tensor(exact(np.asarray(x, np.float64), layout="bthd")) for x in (q, k))
    return case(ROTATING, FORMULA, makers, expected, 2e-6)


def table() -> dict[str, Any]:
    """Vectors of the first positions."""
    sinusoidal, at = Sinusoidal(dim=WIDTH), jnp.arange(ROWS)

    def by_hand(at: Any) -> Any:
        angle = at[:, None] * jnp.exp(jnp.arange(0, WIDTH, 2) * (-np.log(10_000.0) / WIDTH))
        return jnp.stack([jnp.sin(angle), jnp.cos(angle)], -1).reshape(-1, WIDTH)

    makers = {FORMULA: floor(jax.jit(by_hand), at), POSENC: timed(jax.jit(sinusoidal.embed), at)}
    return case(TABLE, FORMULA, makers, as_tensor(sinusoidal.embed(np.arange(ROWS))), 1.2e-7)


def vectors(queries: int, keys: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    shapes = ((1, queries, HEADS, DIM), (1, keys, KEY_HEADS, DIM), (1, keys, KEY_HEADS, DIM))
    q, k, v = (jnp.asarray(rng.standard_normal(shape, np.float32)) for shape in shapes)
    return q, k, v


def by_reference(bound: Any, q: Any, k: Any, v: Any, given: Any) -> Any:
    """The readable reference, in NumPy's float64."""
    params = {name: np.asarray(value, np.float64) for name, value in bound.params.items()} or None
    places = {name: np.asarray(value) for name, value in given.items()}
    wide = (np.asarray(x, np.float64) for x in (q, k, v))
    out = reference(*wide, **places, encodings=[bound.encoding], params=[params], causal=True, layout="bthd")
    return as_tensor(out.output)


def timed(call: Any, *arguments: Any) -> Maker:
    return lambda: Variant(lambda: jax.block_until_ready(call(*arguments)), lambda: as_tensors(call(*arguments)))


def floor(call: Any, *arguments: Any) -> Maker:
    return lambda: Variant(lambda: jax.block_until_ready(call(*arguments)))


def as_tensors(found: Any) -> Any:
    return tuple(map(as_tensor, found)) if isinstance(found, tuple) else as_tensor(found)


def as_tensor(x: Any) -> Any:
    return torch.from_numpy(np.asarray(x, np.float64))


def case(what: str, below: str, makers: dict[str, Maker], expected: Any, bound: float) -> dict[str, Any]:
    return compared(what, below, makers, expected, bound, rounds=7, clock=time.process_time)
