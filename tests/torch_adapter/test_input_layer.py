"""The input layer of 2017, alone and in front of nn.TransformerEncoder."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn

from posenc import Learned, RoPE, Sinusoidal
from posenc.compose import Concatenated, LearnedScale, Sum
from posenc.core.doors import AdditiveEncoding
from posenc.torch import InputLayer

IDS = torch.randint(0, 50, (3, 7), generator=torch.Generator().manual_seed(0))
ADDED = [
    Sinusoidal(dim=16),
    Learned(dim=16, length=9),
    LearnedScale(Sinusoidal(dim=16)),
    Sum((Sinusoidal(dim=16), Learned(dim=16, length=9))),
]


def layer(encoding: AdditiveEncoding = Sinusoidal(dim=16), *, batch_first: bool = True, **options: Any) -> InputLayer:  # noqa: B008
    return InputLayer(50, encoding, batch_first=batch_first, **({"seed": 0} | options)).eval()


def test_it_is_the_formula() -> None:
    first = layer()
    row, position = first.embedding[IDS[1, 5]].double(), 5
    expected = row * math.sqrt(16)
    for i in range(8):
        angle = position / 10_000 ** (2 * i / 16)
        expected[2 * i] += math.sin(angle)
        expected[2 * i + 1] += math.cos(angle)
    # A rounding of the product, of the wave and of the sum, of numbers below 8.
    assert torch.allclose(first(IDS)[1, 5].double(), expected, rtol=0, atol=3 * 8 * 2**-24)


def test_the_embedding_has_unit_variance_after_the_factor() -> None:
    scaled = InputLayer(2000, Sinusoidal(dim=64), batch_first=True, seed=0).embedding * math.sqrt(64)
    # 128,000 draws: the standard error of a variance of 1 is √(2/128000) = 0.004; six of them.
    assert abs(scaled.var().item() - 1) < 0.024
    assert not torch.equal(layer(seed=0).embedding, layer(seed=1).embedding)


@pytest.mark.parametrize("encoding", ADDED)
@pytest.mark.parametrize("positions", [None, torch.arange(7) + 2, IDS % 9])
def test_batch_first_and_second_are_transposed(encoding: AdditiveEncoding, positions: torch.Tensor | None) -> None:
    first, second = layer(encoding), layer(encoding, batch_first=False)
    swapped = positions.T if positions is not None and positions.ndim == 2 else positions
    result = first(IDS, positions)
    assert result.shape == (3, 7, 16)
    assert torch.equal(second(IDS.T, swapped), result.transpose(0, 1))


def test_positions_are_used() -> None:
    first = layer()
    assert torch.equal(first(IDS), first(IDS, torch.arange(7)))
    assert not torch.equal(first(IDS), first(IDS, torch.arange(7) + 1))
    assert torch.equal(first(IDS, torch.arange(7).expand(3, 7) + 4), first(IDS, torch.arange(7) + 4))


def test_dropout_is_of_the_sum_and_only_in_training() -> None:
    first = layer(dropout=0.5)
    assert torch.equal(first(IDS), layer(dropout=0.0)(IDS))
    dropped = first.train()(IDS)
    kept = dropped != 0
    assert 0.3 < kept.float().mean() < 0.7
    assert torch.allclose(dropped[kept], 2 * first.eval()(IDS)[kept], rtol=2**-23, atol=0)


def test_bfloat16_is_rounded_once() -> None:
    encoding = Sinusoidal(dim=12)  # the root of 12 is no power of two, so a product in bfloat16 would round
    narrow, wide = layer(encoding).to(torch.bfloat16), layer(encoding)
    with torch.no_grad():
        wide.embedding.copy_(narrow.embedding)
    assert narrow(IDS).dtype == torch.bfloat16
    assert torch.equal(narrow(IDS), wide(IDS).to(torch.bfloat16))


def test_concatenation_widens() -> None:
    first = layer(Concatenated(Sinusoidal(dim=4)), width=12)
    result = first(IDS)
    assert result.shape == (3, 7, 16)
    assert torch.equal(result[..., :12], first.embedding[IDS] * math.sqrt(12))


@pytest.mark.parametrize("encoding", ADDED)
@pytest.mark.parametrize("batch_first", [True, False])
def test_it_trains_in_front_of_the_encoder(encoding: AdditiveEncoding, batch_first: bool) -> None:
    torch.manual_seed(0)
    front = InputLayer(50, encoding, batch_first=batch_first)
    block = nn.TransformerEncoderLayer(16, 4, 32, batch_first=batch_first)
    model = nn.Sequential(front, nn.TransformerEncoder(block, 1, enable_nested_tensor=False), nn.Linear(16, 50))
    ids = IDS if batch_first else IDS.T
    target = ids.roll(1, 1 if batch_first else 0)  # the token before: without positions it cannot be told
    optimiser = torch.optim.AdamW(model.parameters(), 0.01)
    losses = []
    for _ in range(60):
        loss = nn.functional.cross_entropy(model(ids).reshape(-1, 50), target.reshape(-1))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in front.parameters())


def test_layers_differ_unless_a_seed_is_given() -> None:
    torch.manual_seed(0)
    first, second = (layer(Learned(dim=16, length=9), seed=None) for _ in range(2))
    torch.manual_seed(0)
    again = layer(Learned(dim=16, length=9), seed=None)
    for one, two, three in zip(first.parameters(), second.parameters(), again.parameters(), strict=True):
        assert not torch.equal(one, two)
        assert torch.equal(one, three)


def test_meta_then_reset() -> None:
    with torch.device("meta"):
        empty = InputLayer(50, Learned(dim=16, length=9), batch_first=True, seed=2)
    filled = empty.to_empty(device="cpu").eval()
    with torch.no_grad():
        for parameter in filled.parameters():
            parameter.fill_(float("nan"))
    filled.reset_parameters()
    assert not list(filled.buffers())
    assert torch.equal(filled(IDS), layer(Learned(dim=16, length=9), seed=2)(IDS))


@pytest.mark.parametrize("batch_first", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_compiles_and_exports(batch_first: bool) -> None:
    first = layer(Sum((Sinusoidal(dim=16), Learned(dim=16, length=9))), batch_first=batch_first)
    ids = [(IDS[:, :n] if batch_first else IDS[:, :n].T).contiguous() for n in (5, 7, 6)]
    compiled = torch.compile(first, fullgraph=True, dynamic=True, backend="eager")
    shapes = ({1 if batch_first else 0: torch.export.Dim("n")}, None)
    program = torch.export.export(first, (ids[0], None), dynamic_shapes=shapes).module()
    for some in ids:
        assert torch.equal(compiled(some), first(some))
        assert torch.equal(program(some, None), first(some))


def test_past_a_learned_table() -> None:
    with pytest.raises(ValueError, match=r"positions must be from 0 to 8.* got values from 0 to 9"):
        layer(Learned(dim=16, length=9))(torch.zeros(1, 10, dtype=torch.int64))


@pytest.mark.parametrize(
    ("ids", "positions", "message"),
    [
        (torch.full((1, 2), 50), None, "ids must be from 0 to 49; got values from 50 to 50"),
        (torch.full((1, 2), -1), None, "ids must be from 0 to 49; got values from -1 to -1"),
        (torch.arange(3), None, r"ids must have shape \(batch, n\); got \(3,\)"),
        (IDS, torch.arange(6), r"positions must have shape \(7,\) or that of ids, \(3, 7\); got \(6,\)"),
        (IDS, torch.zeros(7, 3), r"positions must have shape \(7,\) or that of ids, \(3, 7\); got \(7, 3\)"),
        (IDS, torch.arange(7, device="meta"), "positions must be on the device of the other arguments, cpu; got meta"),
    ],
)
def test_forward_refuses(ids: torch.Tensor, positions: torch.Tensor | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        layer()(ids, positions)


@pytest.mark.parametrize("ids", [torch.zeros(1, 2), [[0, 1]], torch.zeros(1, 2, dtype=torch.bool)])
def test_ids_are_integers(ids: object) -> None:
    with pytest.raises(TypeError, match="ids must be an int64 or int32 tensor; got"):
        layer()(ids)


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (ValueError, "vocabulary must be an integer from 1", {"vocabulary": 0}),
        (ValueError, "vocabulary must need at most", {"vocabulary": 1 << 31}),
        (TypeError, "encoding must be an encoding that adds; got RoPE", {"encoding": RoPE(dim=16)}),
        (TypeError, "batch_first must be True or False; got 1", {"batch_first": 1}),
        (ValueError, "dropout must be a finite number from 0 to 1; got 1.5", {"dropout": 1.5}),
        (ValueError, "width must be that of the encoding, 16; got 8", {"width": 8}),
        (ValueError, "width must be given with Concatenated", {"encoding": Concatenated(Sinusoidal(dim=4))}),
    ],
)
def test_construction_refuses(error: type[Exception], message: str, options: dict[str, object]) -> None:
    with pytest.raises(error, match=message):
        InputLayer(**({"vocabulary": 50, "encoding": Sinusoidal(dim=16), "batch_first": True} | options))


def test_batch_first_must_be_said() -> None:
    with pytest.raises(TypeError, match="batch_first"):
        InputLayer(50, Sinusoidal(dim=16))
