"""The derived score_mod against the dense bias, in flex_attention and, for gradients, place by place."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

from posenc import ALiBi, RoPE, T5Bias
from posenc.core.doors import AttentionBias
from posenc.testing.one_coordinate import spread_over_axes
from posenc.torch import Bias, score_mod
from samples import DOORS, FIRST, SAMPLES, by_night

RECORDS = [encoding for encoding in SAMPLES if isinstance(encoding, AttentionBias)]
QUERIES, KEYS, WIDTH = 7, 11, 16
uncompiled = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")


def trained(encoding: AttentionBias) -> Bias:
    held = Bias(encoding, seed=1)
    with torch.no_grad():
        for parameter in held.parameters():
            parameter.mul_(2)  # so that a wrong bucket or head shows, and none leaves its bounds for good
    return held


def places(encoding: AttentionBias, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Queries in the middle of their keys, far out where no table ends; one row for all, or a row for each sequence."""
    start = 100_000 if "unlimited" in encoding.claims else 100
    query_positions, key_positions = torch.arange(QUERIES) + start + 3, torch.arange(KEYS) + start
    if rows > 1:
        query_positions, key_positions = (
            torch.stack([query_positions, query_positions + 5]),
            torch.stack([key_positions, key_positions - 60]),
        )
    return spread_over_axes(encoding, query_positions), spread_over_axes(encoding, key_positions)


def heads(count: int, length: int, seed: int) -> torch.Tensor:
    return torch.randn(2, count, length, WIDTH, generator=torch.Generator().manual_seed(seed))


@uncompiled
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("encoding", by_night(RECORDS, daily=DOORS))  # flex_attention traces each anew
def test_flex_attention_equals_the_dense_bias(encoding: AttentionBias, rows: int) -> None:
    held, (query_positions, key_positions) = trained(encoding), places(encoding, rows)
    groups = 3 if encoding.heads % 3 == 0 else 1
    q, k, v = (
        heads(encoding.heads, QUERIES, 0),
        heads(encoding.heads // groups, KEYS, 1),
        heads(encoding.heads // groups, KEYS, 2),
    )
    with torch.no_grad():
        add = score_mod(encoding, query_positions, key_positions, held.params)
        got = flex_attention(q, k, v, score_mod=add, enable_gqa=True)
        logits = q @ k.repeat_interleave(groups, 1).mT / WIDTH**0.5 + held(query_positions, key_positions)
        expected = logits.softmax(-1) @ v.repeat_interleave(groups, 1)
    # 16 products a logit and 11 terms an output, all below 32, in another order: a rounding each.
    assert torch.allclose(got, expected, rtol=0, atol=(16 + 11) * 32 * 2**-24)


def every_place(add: Any, scores: torch.Tensor) -> torch.Tensor:
    """The score_mod at each (batch, head, query, key), as flex_attention maps it."""
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    axes = [torch.arange(size) for size in scores.shape]
    mapped = add
    for level in range(4):
        mapped = torch.vmap(mapped, in_dims=(0, *(0 if index == 3 - level else None for index in range(4))))
    with TransformGetItemToIndex():
        return mapped(scores, *axes)


@pytest.mark.parametrize("encoding", by_night(RECORDS, daily=FIRST))
def test_gradients_equal_those_of_the_dense_bias(encoding: AttentionBias) -> None:
    held, (query_positions, key_positions) = trained(encoding), places(encoding, 2)
    scores = torch.randn(
        2, encoding.heads, QUERIES, KEYS, generator=torch.Generator().manual_seed(3), requires_grad=True
    )
    weight = torch.randn(2, encoding.heads, QUERIES, KEYS, generator=torch.Generator().manual_seed(4))
    sources = (scores, *held.parameters())
    by_place = (every_place(score_mod(encoding, query_positions, key_positions, held.params), scores) * weight).sum()
    dense = ((scores + held(query_positions, key_positions)) * weight).sum()
    names = ("scores", *dict(held.named_parameters()))
    by_place, dense = torch.autograd.grad(by_place, sources), torch.autograd.grad(dense, sources)
    for name, left, right in zip(names, by_place, dense, strict=True):
        # FIRE's threshold is no part of the number of a query beyond it.
        assert right.any() or (type(encoding).__name__, name) == ("FIRE", "multiplier")
        # A bucket sums at most 2·7·11 numbers below 8, in another order.
        assert torch.allclose(left, right, rtol=0, atol=2 * 7 * 11 * 8 * 2**-24)


def test_one_row_of_positions_serves_a_batch() -> None:
    scores, held, at = torch.zeros(2, 2, 3, 3), ALiBi(heads=2), torch.arange(3)
    assert torch.equal(
        every_place(score_mod(held, at[None], at[None]), scores), every_place(score_mod(held, at, at), scores)
    )


def test_errors() -> None:
    place = torch.arange(3)
    with pytest.raises(TypeError, match="encoding must be an encoding that biases; got RoPE"):
        score_mod(RoPE(dim=8), place, place)
    with pytest.raises(
        TypeError, match="query_positions must be a tensor of positions on the device of attention; got"
    ):
        score_mod(ALiBi(heads=2), [0, 1], place)
    with pytest.raises(ValueError, match=r"key_positions must have shape \(n,\) or \(batch, n\); got \(1, 1, 3\)"):
        score_mod(ALiBi(heads=2), place, place[None, None])
    with pytest.raises(ValueError, match=r"params must hold what T5Bias learns, \['table'\]; got None"):
        score_mod(T5Bias(heads=2), place, place)
