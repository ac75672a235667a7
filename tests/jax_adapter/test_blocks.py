"""Blocks of biases and scores, computed inside a Pallas kernel (interpreted), against the dense matrix."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas

from jax_adapter.calls import bound_to
from posenc import ALiBi, CoPE, GatedBias, LogCPB, RoPE, Shaw, T5Bias
from posenc.core.doors import AttentionBias, AttentionScore, Encoding
from posenc.jax import Block, Bound, bias_block, bind, score_block
from posenc.testing import budgets
from posenc.testing.one_coordinate import spread_over_axes
from samples import SAMPLES, by_night

QUERIES, KEYS = 4, 8  # of a block
BIASES = tuple(encoding for encoding in SAMPLES if isinstance(encoding, AttentionBias))
SCORES = tuple(
    encoding
    for encoding in SAMPLES
    if isinstance(encoding, AttentionScore) and not (encoding.gathers or encoding.reads)
)


def in_blocks(block: Block, grid: tuple[int, ...], arguments: list[Any], specs: list[Any], out: Any, shape: Any) -> Any:
    """The block at every point of the grid; a bias also takes the head, the first number of its point."""

    def kernel(*refs: Any) -> None:
        *inputs, result = (*(ref[...] for ref in refs[:-1]), refs[-1])
        content, constants = inputs[: len(arguments)], inputs[len(arguments) :]
        head = [pallas.program_id(0)] if len(grid) == 3 else []
        result[...] = block(constants, *head, *content).reshape(result.shape)

    whole = [pallas.BlockSpec(part.shape, lambda *_, rank=part.ndim: (0,) * rank) for part in block.constants]
    call = pallas.pallas_call(
        kernel, grid=grid, in_specs=[*specs, *whole], out_specs=out,
        out_shape=jax.ShapeDtypeStruct(shape, jnp.float32), interpret=True,
    )  # fmt: skip
    return call(*arguments, *block.constants)


def near(blocks: Any, dense: Any) -> bool:
    """Equal but for a rounding of each of 16 terms, which may be fused in the kernel."""
    largest = max(1.0, float(np.abs(dense).max()))
    return blocks.shape == dense.shape and np.allclose(
        blocks, dense, rtol=0, atol=budgets.product("float32", 16, largest)
    )


def positions(encoding: Encoding, count: int) -> jax.Array:
    return spread_over_axes(encoding, jnp.arange(count, dtype=jnp.int32)[::-1])


def along(encoding: Encoding, count: int, axis: int) -> Any:
    """The positions of a block, those of its place on an axis of the grid."""
    if encoding.axes == 1:
        return pallas.BlockSpec((count,), lambda *at: (at[axis],))
    return pallas.BlockSpec((count, encoding.axes), lambda *at: (at[axis], 0))


@pytest.mark.parametrize("encoding", by_night((T5Bias(heads=3), *BIASES), daily={T5Bias(heads=3)}))
def test_a_bias_in_blocks(encoding: Any) -> None:
    bound, query_positions, key_positions = bound_to(encoding), positions(encoding, 8), positions(encoding, 16)
    blocks = in_blocks(
        bias_block(bound, QUERIES, KEYS), (encoding.heads, 2, 2), [query_positions, key_positions],
        [along(encoding, QUERIES, 1), along(encoding, KEYS, 2)],
        pallas.BlockSpec((1, QUERIES, KEYS), lambda head, i, j: (head, i, j)), (encoding.heads, 8, 16),
    )  # fmt: skip
    assert near(blocks, bound.bias(query_positions, key_positions))


@pytest.mark.parametrize("encoding", by_night((Shaw(dim=8, clip=2), *SCORES), daily={Shaw(dim=8, clip=2)}))
def test_a_score_in_blocks(encoding: Any) -> None:
    """With two query heads for each key head, where the encoding does not state its heads."""
    bound, query_positions, key_positions = bound_to(encoding), positions(encoding, 8), positions(encoding, 16)
    rng, dim = np.random.default_rng(0), getattr(encoding, "dim", 8)
    heads = getattr(encoding, "heads", None) or 4
    key_heads = heads // 2 if hasattr(encoding, "dim") and getattr(encoding, "heads", None) is None else heads
    q, k = (jnp.asarray(rng.standard_normal((h, n, dim)), jnp.float32) for h, n in ((heads, 8), (key_heads, 16)))
    blocks = in_blocks(
        score_block(bound, q[:, :QUERIES], k[:, :KEYS]), (2, 2), [q, k, query_positions, key_positions],
        [
            pallas.BlockSpec((heads, QUERIES, dim), lambda i, j: (0, i, 0)),
            pallas.BlockSpec((key_heads, KEYS, dim), lambda i, j: (0, j, 0)),
            along(encoding, QUERIES, 0), along(encoding, KEYS, 1),
        ],
        pallas.BlockSpec((heads, QUERIES, KEYS), lambda i, j: (0, i, j)), (heads, 8, 16),
    )  # fmt: skip
    assert near(blocks, bound.score(q, k, query_positions, key_positions))


def test_several_coordinates_in_blocks() -> None:
    encoding = LogCPB(heads=2)
    query = jnp.asarray([[0, 1], [2, 3]], jnp.int32)
    block = bias_block(bind(encoding), 2, 2)
    assert near(block(block.constants, jnp.int32(1), query, query), bind(encoding).bias(query, query)[1])


@pytest.mark.parametrize("encoding", [ALiBi(heads=2), T5Bias(heads=2)])
def test_a_head_that_does_not_exist_gives_nan(encoding: AttentionBias) -> None:
    bound, places = bind(encoding), jnp.arange(3)
    block = bias_block(bound, 3, 3)
    for head, exists in ((-1, False), (0, True), (1, True), (2, False)):
        found = block(block.constants, jnp.int32(head), places, places)
        assert np.isfinite(found).all() if exists else np.isnan(found).all()


def test_what_has_no_block_is_refused() -> None:
    bound: Any = bind(RoPE(dim=8))
    with pytest.raises(TypeError, match=r"^bound.encoding must be an encoding of the door 'biases'; got RoPE"):
        bias_block(bound, 4, 4)
    with pytest.raises(TypeError, match=r"^bound must be a bound encoding; bind it first; got T5Bias"):
        bias_block(T5Bias(heads=2), 4, 4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^queries must be an integer from 1"):
        bias_block(bind(T5Bias(heads=2)), 0, 4)
    q = jnp.ones((2, 4, 8))
    for encoding, reason in ((CoPE(dim=8), "keys in between"), (GatedBias, "input of the layer")):
        if isinstance(encoding, type):
            encoding = next(sample for sample in SAMPLES if isinstance(sample, encoding))
        with pytest.raises(
            ValueError, match=rf"^bound.encoding must score a query and a key alone; .* reads the {reason}"
        ):
            score_block(Bound(encoding, {}), q, q)
