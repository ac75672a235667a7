"""Compiled with dynamic sizes, plain numbers become symbols too: dropout, scale, window and epsilon pass their checks,
and one program serves other numbers and other lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from posenc import ALiBi, Learned, RoPE, Shaw
from posenc.torch import (
    Attention,
    InputLayer,
    attention,
    embed,
    module,
    rotate_normed,
    rotation,
    shared_bias,
    strided,
    strided_attention,
)

HEADS, DIM = 4, 8
ROTATION, BIAS, SCORE = RoPE(dim=DIM), ALiBi(heads=HEADS), module(Shaw(dim=DIM, clip=3), seed=0)
LAYER = Attention(DIM, 1, encodings=[ROTATION], causal=True, window=(3, 0), scale=0.4)
INPUT = InputLayer(50, Learned(dim=DIM, length=32), dropout=0.0, batch_first=True, seed=0)
WEIGHT = torch.randn(50, DIM, generator=torch.Generator().manual_seed(0))


def attended(*encodings: Any) -> Callable[..., Any]:
    """Attention of grouped heads, with numbers that its caller gives."""

    def call(x: Any, positions: Any, number: float, count: int) -> Any:
        named: Any = {
            "query_positions": positions,
            "key_positions": positions,
            "encodings": encodings,
            "layout": "bhtd",
            "scale": number,
        }
        if encodings:
            named |= {"causal": True, "window": (count, None), "dropout": 0.0 * number}
        return attention(x, x[:, ::2], x[:, ::2], **named)

    return call


def normed(x: Any, positions: Any, number: float, count: int) -> Any:
    ones = torch.ones(DIM)
    return rotate_normed(
        x, x, rotation(ROTATION, positions), q_weight=ones, k_weight=ones, epsilon=number, layout="bhtd"
    )


CALLS: dict[str, Callable[..., Any]] = {
    "nothing": attended(),
    "a rotation": attended(ROTATION),
    "a rotation, causal": lambda x, places, number, count: attention(
        x, x, x, query_positions=places, key_positions=places, encodings=[ROTATION], layout="bhtd", causal=True
    ),
    "a bias": attended(BIAS),
    "a score": attended(SCORE),
    "a shared bias": lambda x, places, number, count: attended(shared_bias([BIAS], places, places))(
        x, places, number, count
    ),
    "strided_attention": lambda x, places, number, count: strided_attention(
        x, x[:, ::2], x[:, ::2], strided(BIAS, places, places), scale=number
    ),
    "rotate_normed": normed,
    "Attention": lambda x, places, number, count: LAYER(x[:, 0]),
    "InputLayer": lambda x, places, number, count: INPUT(places[None] % 50),
    "embed": lambda x, places, number, count: embed(places[None], WEIGHT, x[0, 0], scale=number),
}
DAILY = ("a rotation, causal", "a score")


def compare(call: Callable[..., Any], backend: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(call, dynamic=True, fullgraph=True, backend=backend)
    for length, number, count in ((7, 0.25, 2), (9, 0.5, 3)):
        x = torch.randn(2, HEADS, length, DIM, generator=torch.Generator().manual_seed(length))
        given = (x, torch.arange(length), number, count)
        # Other orders of sums over at most 9 keys and 8 channels, of numbers of size 1.
        torch.testing.assert_close(compiled(*given), call(*given), rtol=0, atol=2.0**-19)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in DAILY else pytest.mark.nightly) for name in CALLS]
)
def test_numbers_that_a_tracer_does_not_know_pass_their_checks(name: str) -> None:
    compare(CALLS[name], "eager")


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["a rotation", "a bias", "a score"])
def test_code_that_inductor_generates(name: str) -> None:
    compare(CALLS[name], "inductor")


def test_a_compiled_program_refuses_numbers_out_of_range() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(attended(ROTATION), dynamic=True, backend="eager")
    x = torch.ones(1, HEADS, 5, DIM)
    for number in (-1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"^scale must be a finite number above 0 and at most 1e\+06; got"):
            compiled(x, torch.arange(5), number, 2)
