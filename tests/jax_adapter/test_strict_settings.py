"""Under the settings of JAX that turn a slip into an error: debug_nans, rank promotion and dtype promotion."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from every import every
from jax_adapter.calls import bound_to, inputs, run
from posenc import (
    ALiBi,
    CayleySTRING,
    Learned,
    LearnedRoPE,
    NormalisedCount,
    RoPE,
    Shaw,
    T5Bias,
    XPos,
    YaRN,
)
from posenc.attention import attention
from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding, RotaryEncoding
from posenc.jax import Bound, bind
from samples import DISTINCT, FIRST_OF_CLASS, SAMPLES, by_night


def directly(bound: Bound, *arguments: Any) -> Any:
    """The methods of the encoding itself, without the pytree."""
    encoding: Any = bound.encoding
    if isinstance(encoding, AdditiveEncoding):
        x, positions = arguments
        return encoding.embed(positions, bound.params), encoding.attach(x, positions, bound.params)
    if isinstance(encoding, RotaryEncoding):
        q, k, query_positions, key_positions = arguments
        (first, second), parts = encoding.roles[:2], [(q, query_positions), (k, key_positions)]
        if "value" in encoding.roles:  # values stand where keys do
            parts.reverse()
        rotations = [
            encoding.rotation(at, bound.params, role=role) for (_, at), role in zip(parts, (first, second), strict=True)
        ]
        return [rotation(x, layout="bhtd") for rotation, (x, _) in zip(rotations, parts, strict=True)]
    if isinstance(encoding, AttentionBias):
        return encoding.matrix(*arguments, bound.params)
    q, k, *hidden, query_positions, key_positions = arguments
    score = encoding.score(q, k, query_positions, key_positions, bound.params, hidden=hidden[0] if hidden else None)
    return score, encoding.values(jax.nn.softmax(score), query_positions, key_positions, bound.params)


def traced_under_strict_promotion(encoding: Encoding) -> None:
    for call in (run, directly):
        jax.eval_shape(call, bind(encoding), *inputs(encoding))


@pytest.mark.nightly
def test_strict_promotion_of_ranks_and_dtypes() -> None:
    """Every class, traced, which asks the same of ranks and dtypes as a direct call; attention; and a rotation that is
    applied by the user's own code."""
    x, positions = jnp.ones((1, 2, 5, 8)), jnp.arange(5)
    shaw = bind(Shaw(dim=8, clip=2))

    def attended(x: jax.Array, mask: jax.Array) -> jax.Array:
        encodings, params = [RoPE(dim=8), ALiBi(heads=2), shaw.encoding], [None, None, shaw.params]
        placed = {"query_positions": positions, "key_positions": positions, "layout": "bhtd", "causal": True}
        return attention(x, x, x, encodings=encodings, params=params, mask=mask, **placed).output

    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        every(FIRST_OF_CLASS, traced_under_strict_promotion)
        for dtype in (jnp.float32, jnp.bfloat16):
            jax.eval_shape(attended, x.astype(dtype), jnp.ones((5, 5), jnp.int32))
        rotation = RoPE(dim=8, scaling=YaRN(4.0, 4096)).rotation(positions)
        for layout, shape in (
            ("bhtd", (1, 2, 5, 8)), ("bthd", (1, 5, 2, 8)), ("thd", (5, 2, 8)), ("btkgd", (1, 5, 2, 3, 8)),
            (None, (3, 5, 8)),
        ):  # fmt: skip
            assert rotation(jnp.ones(shape), layout=layout).shape == shape
        with pytest.raises(ValueError, match="rank_promotion"):  # the user's own code is still asked
            x + jnp.ones(8)


@pytest.mark.nightly
@pytest.mark.parametrize("encoding", SAMPLES)
def test_strict_promotion_of_every_sample_in_direct_calls(encoding: Encoding) -> None:
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        traced_under_strict_promotion(encoding)
        directly(bound_to(encoding), *inputs(encoding))


#: One of each guard against positions that cannot be read.
GUARDED = (
    RoPE(dim=4), LearnedRoPE(dim=4), XPos(dim=4), ALiBi(heads=2), T5Bias(heads=2), Learned(dim=4, length=90_000),
    NormalisedCount(length=90_000), CayleySTRING(dim=4),
)  # fmt: skip


@pytest.mark.parametrize("encoding", GUARDED)
def test_no_guard_makes_a_nan_of_good_input(encoding: Encoding) -> None:
    with jax.debug_nans(True):
        assert all(bool(jnp.isfinite(part).all()) for part in run(bind(encoding), *inputs(encoding)))


#: In which a gradient by hand, or of a guard or of a clipped number, is most likely to form one.
BY_DAY = (XPos(dim=4),)


@pytest.mark.parametrize("encoding", by_night((*BY_DAY, *(each for each in SAMPLES if each in DISTINCT)), daily=BY_DAY))
def test_no_operation_makes_a_nan_of_good_input(encoding: Encoding) -> None:
    """Forward, gradient and jit: outside jit JAX looks at the result of every operation."""

    def loss(bound: Bound, floats: tuple[Any, ...], rest: tuple[Any, ...]) -> jax.Array:
        return sum((part**3).sum() for part in run(bound, *floats, *rest))

    arguments = inputs(encoding)
    floats = tuple(x for x in arguments if x.dtype == jnp.float32)
    rest = arguments[len(floats) :]
    with jax.debug_nans(True):
        for bound in (bind(encoding), bound_to(encoding)):  # fresh parameters are zeros, often
            run(bound, *arguments)
            jax.jit(run)(bound, *arguments)
            gradient = jax.grad(loss, argnums=(0, 1))
            gradient(bound, floats, rest)
            jax.jit(gradient)(bound, floats, rest)
