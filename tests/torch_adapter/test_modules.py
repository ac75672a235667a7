"""The four modules against arithmetic written out here, and every refusal of theirs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses import FakeTensorMode

from posenc import CATALOG, ALiBi, NoPE, RoPE, Shaw, Sinusoidal, T5Bias, ValueRotation, axial
from posenc.compose import LearnedScale, PerLayer, Sum
from posenc.core.doors import Encoding
from posenc.torch import (
    Add,
    Bias,
    Rotate,
    Score,
    decode_row,
    module,
    rotate,
    rotate_,
    rotate_normed,
    rotate_normed_,
    score_mod,
    strided,
)

FAR = 2**31 - 7  # an odd place near the claimed maximum of a 32-bit index


def rotated(x: np.ndarray, positions: np.ndarray, base: float = 10_000.0) -> np.ndarray:
    """Adjacent pairs as complex numbers times exp(i·p·base^(-2i/d)), in float64; x: (batch, heads, n, d)."""
    dim = x.shape[-1]
    angles = positions[:, None].astype(np.longdouble) * base ** (-np.arange(0, dim, 2, dtype=np.longdouble) / dim)
    spun = (x[..., 0::2] + 1j * x[..., 1::2]) * (np.cos(angles) + 1j * np.sin(angles))
    return np.stack([spun.real, spun.imag], -1).reshape(x.shape).astype(np.float64)


@pytest.mark.parametrize("start", [0, 7, 100_003])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_rotate_is_complex_multiplication(dtype: torch.dtype, start: int) -> None:
    q = torch.randn(2, 12, 3, 8, dtype=torch.float64).to(dtype)
    k = torch.randn(2, 4, 5, 8, dtype=torch.float64).to(dtype)
    query_positions, key_positions = torch.arange(3) + start + 2, torch.arange(5) + start
    got_q, got_k = Rotate(RoPE(dim=8))(q, k, query_positions, key_positions, layout="bhtd")
    assert got_q.dtype == got_k.dtype == dtype
    # A rounding of cos and sin, two products and a sum of numbers below 8, then one rounding to the dtype of q.
    unit = {torch.float64: 2.0**-48, torch.float32: 2.0**-23, torch.bfloat16: 2.0**-8}[dtype]
    for got, x, positions in ((got_q, q, query_positions), (got_k, k, key_positions)):
        expected = rotated(x.double().numpy(), positions.numpy())
        assert np.abs(got.double().numpy() - expected).max() <= 8 * unit


def test_rotate_takes_both_layouts_and_rows_of_positions() -> None:
    q, k = torch.randn(2, 12, 1, 8), torch.randn(2, 4, 5, 8)  # a step of decoding
    query_positions, key_positions = (
        torch.tensor([[FAR], [9]]),
        torch.stack([torch.arange(5) + FAR - 4, torch.arange(5) + 5]),
    )
    rotate = Rotate(RoPE(dim=8, pairing="halves"))
    by_head = rotate(q, k, query_positions, key_positions, layout="bhtd")
    by_time = rotate(q.transpose(1, 2), k.transpose(1, 2), query_positions, key_positions, layout="bthd")
    assert all(torch.equal(a, b.transpose(1, 2)) for a, b in zip(by_head, by_time, strict=True))
    alone = rotate(q[1:], k[1:], query_positions[1], key_positions[1], layout="bhtd")
    assert all(torch.equal(a[1:], b) for a, b in zip(by_head, alone, strict=True))


def test_queries_and_keys_have_their_own_positions() -> None:
    q = k = torch.randn(1, 1, 2, 8)
    left, right = Rotate(RoPE(dim=8))(q, k, torch.tensor([3, 4]), torch.tensor([5, 9]), layout="bhtd")
    again, _ = Rotate(RoPE(dim=8))(q, k, torch.tensor([5, 9]), torch.tensor([3, 4]), layout="bhtd")
    assert torch.equal(right, again)
    assert not torch.equal(left, right)


def test_add_rounds_once() -> None:
    x = torch.randn(3, 5, 6).to(torch.bfloat16)
    positions = torch.arange(5) + 70_001
    got = Add(Sinusoidal(dim=6))(x, positions)
    rates = 10_000.0 ** (-np.arange(0, 6, 2, dtype=np.longdouble) / 6)
    angles = np.asarray(positions, np.longdouble)[:, None] * rates
    table = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(5, 6)
    expected = torch.from_numpy((x.double().numpy() + table).astype(np.float32)).to(torch.bfloat16)
    assert torch.equal(got, expected)


def test_bias_is_dense_and_takes_lists() -> None:
    got = Bias(ALiBi(heads=12))([5], [0, 5, 9], dtype=torch.float64)
    slopes = [2.0 ** -(i + 1) for i in range(8)] + [2.0 ** -(i + 0.5) for i in range(4)]
    expected = torch.tensor([[[-5 * s, 0.0, -4 * s]] for s in slopes], dtype=torch.float64)
    assert got.shape == (12, 1, 3)
    assert torch.allclose(got, expected, rtol=2**-52, atol=0)
    assert Bias(ALiBi(heads=3))(torch.tensor([[5], [6]]), torch.arange(4)).shape == (2, 3, 1, 4)
    assert Bias(T5Bias(heads=3))([5], [0, 5, 9]).requires_grad


def test_score_reads_content() -> None:
    score = Score(Shaw(dim=8, clip=2))
    q, k = torch.randn(2, 12, 3, 8), torch.randn(2, 12, 5, 8)
    got = score(q, k, torch.tensor([2, 3, 4]), torch.arange(5))
    rows = [[max(-2, min(2, n - m)) + 2 for n in range(5)] for m in (2, 3, 4)]
    expected = torch.einsum("bhnd,nmd->bhnm", q, score.relative_keys[torch.tensor(rows)]) / math.sqrt(8)
    assert torch.allclose(got, expected, rtol=0, atol=8 * 8 * 2**-23)  # eight products below 8, added in another order


@pytest.mark.parametrize("seed", [0, 5])
def test_parameters_come_from_the_seed(seed: int) -> None:
    held, drawn = module(T5Bias(heads=12), seed=seed), T5Bias(heads=12).init(np.random.default_rng(seed))
    assert held.table.dtype == torch.float32
    assert np.array_equal(held.table.detach().numpy(), drawn["table"].astype(np.float32))
    with torch.no_grad():
        held.table.zero_()
    held.reset_parameters()
    assert np.array_equal(held.table.detach().numpy(), drawn["table"].astype(np.float32))
    assert not torch.equal(held.table, module(T5Bias(heads=12), seed=seed + 1).table)


LEARNED = [row.samples[0] for row in CATALOG if isinstance(row.samples[0], Encoding) and row.samples[0].shapes]


@pytest.mark.parametrize("encoding", LEARNED)
def test_parameters_come_from_the_default_generator(encoding: Encoding) -> None:
    """Layers of one model differ, as do runs of another seed, where the encoding draws at all."""

    def layers(seed: int) -> list[torch.Tensor]:
        torch.manual_seed(seed)
        return [torch.cat([value.detach().flatten() for value in module(encoding).parameters()]) for _ in range(2)]

    draws = (encoding.init(np.random.default_rng(seed)) for seed in (0, 1))
    random = not all(np.array_equal(*pair) for pair in zip(*(drawn.values() for drawn in draws), strict=True))
    (first, second), again, other = layers(0), layers(0), layers(1)
    assert torch.equal(first, again[0])
    assert torch.equal(second, again[1])
    for one, two in ((first, second), (first, other[0]), (second, other[1])):
        assert torch.equal(one, two) != random


def test_what_learns_nothing_leaves_the_default_generator_alone() -> None:
    torch.manual_seed(0)
    first = torch.rand(())
    torch.manual_seed(0)
    module(RoPE(dim=8))
    assert torch.rand(()) == first


def test_modules_of_fake_tensors() -> None:
    with FakeTensorMode():
        assert module(T5Bias(heads=2)).table.shape == (32, 2)


def test_state_dict_has_the_names_of_the_encoding() -> None:
    encoding = Sum((Sinusoidal(dim=8), LearnedScale(Sinusoidal(dim=8, base=100.0))))
    assert list(module(encoding).state_dict()) == ["1.scale"] == list(encoding.shapes)


@pytest.mark.parametrize("encoding", [Sinusoidal(dim=8), RoPE(dim=8), ALiBi(heads=12), T5Bias(heads=12), Shaw(dim=8)])
def test_no_buffers_and_the_encoding_is_printed(encoding: Encoding) -> None:
    held = module(encoding)
    assert not list(held.buffers())
    assert repr(encoding) in repr(held)
    assert held.encoding is encoding


def call(q: tuple[int, ...] = (2, 12, 3, 8), k: tuple[int, ...] = (2, 4, 5, 8), **options: object) -> object:
    named = {"query_positions": torch.arange(3), "key_positions": torch.arange(5), "layout": "bhtd"} | options
    return Rotate(RoPE(dim=8))(torch.zeros(q), torch.zeros(k), **named)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"q": (2, 12, 3, 6)}, r"q must have shape 'bhtd' with d = 8; got \(2, 12, 3, 6\)"),
        ({"q": (12, 3, 8)}, r"q must have shape 'bhtd' with d = 8; got \(12, 3, 8\)"),
        ({"k": (2, 4, 5, 16)}, r"k must have shape 'bhtd' with d = 8; got \(2, 4, 5, 16\)"),
        ({"k": (1, 4, 5, 8)}, r"k must have the batch of q, 2; got 1"),
        ({"k": (2, 5, 5, 8)}, r"k must have a number of heads that divides those of q, 12; got 5"),
        ({"k": (2, 0, 5, 8)}, r"k must have a number of heads that divides those of q, 12; got 0"),
        (
            {"query_positions": torch.arange(4)},
            r"query_positions must have shape \(3,\) or \(2, 3\), .* of q \(bhtd\); got \(4,\)",
        ),
        (
            {"key_positions": torch.arange(3)},
            r"key_positions must have shape \(5,\) or \(2, 5\), .* of k \(bhtd\); got \(3,\)",
        ),
        ({"key_positions": torch.zeros(3, 5)}, r"key_positions must have shape \(5,\) or \(2, 5\), .* got \(3, 5\)"),
        ({"layout": "bthd"}, r"k must have a number of heads that divides those of q, 3; got 5"),
        ({"layout": "thd"}, r"layout must be one of 'bhtd', 'bthd'; got 'thd'"),
        (
            {"query_positions": torch.arange(3, device="meta")},
            r"query_positions must be on the device of the other arguments, cpu; got meta",
        ),
        ({"query_positions": torch.tensor([0.0, math.nan, 1.0])}, r"positions must be finite"),
    ],
)
def test_rotate_refuses(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(**options)


def test_rotate_refuses_narrow_positions() -> None:
    with pytest.raises(TypeError, match="positions must be integers, float32 or float64; got bfloat16"):
        call(query_positions=torch.arange(3).to(torch.bfloat16))


@pytest.mark.parametrize("encoding", [PerLayer((RoPE(dim=8),)), "RoPE(dim=8)", RoPE])
def test_module_refuses(encoding: object) -> None:
    with pytest.raises(TypeError, match="encoding must be an encoding of one of the four doors; got"):
        module(encoding)


@pytest.mark.parametrize(("kind", "word"), [(Add, "adds"), (Rotate, "rotates"), (Bias, "biases"), (Score, "scores")])
def test_each_module_takes_its_own_door(kind: type, word: str) -> None:
    other = ALiBi(heads=2) if kind is not Bias else RoPE(dim=8)
    with pytest.raises(TypeError, match=f"encoding must be an encoding that {word}; got"):
        kind(other)


def test_a_batch_of_positions_is_that_of_x() -> None:
    add, at = Add(Sinusoidal(dim=4)), torch.arange(15).reshape(5, 3)
    for shape in ((3, 4), (2, 3, 4)):
        with pytest.raises(ValueError, match=r"^x must have the batch of positions, \(5,\); got"):
            add(torch.zeros(shape), at)
    assert torch.equal(add(torch.zeros(2, 3, 4), at[:1]), add(torch.zeros(2, 3, 4), at[0]))


def test_seed_and_x_are_checked() -> None:
    with pytest.raises(ValueError, match="seed must be an integer from 0"):
        module(T5Bias(heads=2), seed=-1)
    with pytest.raises(TypeError, match="x must be a PyTorch tensor; got"):
        Add(Sinusoidal(dim=4))(np.zeros((1, 2, 4)), torch.arange(2))


def test_positions_left_out_are_those_of_a_whole_sequence() -> None:
    draw, places = torch.Generator().manual_seed(0), torch.arange(5)
    q, k = torch.randn(2, 12, 5, 8, generator=draw), torch.randn(2, 4, 5, 8, generator=draw)
    rotated, score, values = module(RoPE(dim=8)), module(Shaw(dim=8, clip=2)), module(ValueRotation(RoPE(dim=8)))
    pairs = [
        (rotated(q, k, layout="bhtd"), rotated(q, k, places, places, layout="bhtd")),
        (
            rotated(q.transpose(1, 2), k.transpose(1, 2), layout="bthd"),
            rotated(q.transpose(1, 2), k.transpose(1, 2), places, places, layout="bthd"),
        ),
        ([score(q, q)], [score(q, q, places, places)]),
        ([score.values(score(q, q))], [score.values(score(q, q), places, places)]),
        ([values(k, layout="bhtd")], [values(k, places, layout="bhtd")]),
        ([values.back(q, layout="bhtd")], [values.back(q, places, layout="bhtd")]),
        ([Add(Sinusoidal(dim=8))(q)], [Add(Sinusoidal(dim=8))(q, places)]),
    ]
    for found, wanted in pairs:
        assert all(torch.equal(*both) for both in zip(found, wanted, strict=True))


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (
            lambda q, k: module(RoPE(dim=8))(q, k, torch.arange(5), layout="bhtd"),
            TypeError,
            "^key_positions must be given where",
        ),
        (
            lambda q, k: module(RoPE(dim=8))(q, k, key_positions=torch.arange(5), layout="bhtd"),
            TypeError,
            r"^query_positions must be given .* give them twice: module\(q, k, positions, positions, …\)",
        ),
        (
            lambda q, k: module(RoPE(dim=8))(q[:, :, :3], k, layout="bhtd"),
            ValueError,
            "^query_positions must be given where queries and keys differ in number; got None for 3 queries and 5 keys",
        ),
        (
            lambda q, k: module(RoPE(dim=8))(q[:, :, :1], k[:, :, :1], layout="bhtd"),
            ValueError,
            "^query_positions must be given for a single token, which may stand anywhere",
        ),
        (lambda q, k: Add(Sinusoidal(dim=8))(q[:, :, :1]), ValueError, "^positions must be given for a single token"),
        (
            lambda q, k: module(axial("sam2", (2, 2)))(q, k, layout="bhtd"),
            ValueError,
            "^query_positions must be given for AxialRoPE, whose positions have 2 coordinates; got None. Give .*grid",
        ),
        (lambda q, k: Score(Shaw(dim=8))(q, k[:, :, :3]), ValueError, "^query_positions must be given where"),
    ],
)
def test_positions_that_must_be_given(use: Callable[..., object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        use(torch.zeros(2, 12, 5, 8), torch.zeros(2, 12, 5, 8))


@pytest.mark.parametrize(
    ("rotation", "message"),
    [
        (
            RoPE(dim=8).rotation(np.arange(5)),
            r"hold PyTorch tensors; got cos and sin of numpy.ndarray. .*torch.arange\(n\)",
        ),
        (
            torch.arange(5),
            r"be a Rotation, .*; got positions, it seems \(Tensor\). Give encoding.rotation\(positions\)",
        ),
        (range(5), r"be a Rotation, .*; got positions, it seems \(range\). Give encoding.rotation\(positions\)"),
        (RoPE(dim=8), r"be a Rotation, .*; got RoPE\(dim=8.*Call its rotation\(positions\)"),
        (Rotate(RoPE(dim=8)), r"be a Rotation, .*; got Rotate\(RoPE.*Call the module itself"),
        (NoPE(dim=8), r"be a Rotation, .*; got NoPE"),
    ],
)
def test_rotate_says_which_turn_to_make(rotation: object, message: str) -> None:
    q, k = torch.zeros(1, 4, 5, 8), torch.zeros(1, 2, 5, 8)
    weights = {"q_weight": torch.ones(8), "k_weight": torch.ones(8), "epsilon": 1e-6}
    for use in (rotate, rotate_, partial(rotate_normed, **weights), partial(rotate_normed_, **weights)):
        with pytest.raises(TypeError, match=f"^rotation must {message}"):
            use(q, k, rotation, layout="bhtd")


@pytest.mark.parametrize("use", [score_mod, strided, decode_row])
def test_a_module_stands_for_its_encoding_and_parameters(use: Callable[..., Any]) -> None:
    held, key_positions = module(T5Bias(heads=2), seed=0), torch.arange(6)
    query_positions = key_positions[4] if use is decode_row else key_positions

    def numbers(encoding: object, *params: object) -> torch.Tensor:
        made = use(encoding, query_positions, key_positions, *params)
        if use is score_mod:
            return made(torch.zeros(()), *map(torch.tensor, (0, 1, 5, 2)))
        return made.numbers if use is strided else made

    found = numbers(held)
    assert torch.equal(found, numbers(T5Bias(heads=2), held.params))
    found.sum().backward()
    assert held.table.grad.any()
    with pytest.raises(ValueError, match=r"^params must be left out for a module, which holds its own"):
        numbers(held, held.params)
    with pytest.raises(TypeError, match=r"^encoding must be an encoding that biases; got RoPE"):
        numbers(module(RoPE(dim=8)))


def test_empty_sequences_and_batches() -> None:
    q, k = Rotate(RoPE(dim=8))(
        torch.zeros(0, 12, 3, 8), torch.zeros(0, 4, 0, 8), torch.arange(3), torch.arange(0), layout="bhtd"
    )
    assert q.shape == (0, 12, 3, 8)
    assert k.shape == (0, 4, 0, 8)
    assert Add(Sinusoidal(dim=4))(torch.zeros(2, 0, 4), torch.arange(0)).shape == (2, 0, 4)
    assert Bias(ALiBi(heads=2))(torch.arange(0), torch.arange(3)).shape == (2, 0, 3)
