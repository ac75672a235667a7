"""Pairings and turns."""

import math

import numpy as np
import pytest

import posenc
from posenc.core.rotation import Pairing, Rotation

X = np.arange(1.0, 13.0).reshape(1, 12)


@pytest.mark.parametrize(
    ("pairing", "firsts", "seconds"),
    [
        (Pairing("adjacent", 12, 12), [0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11]),
        (Pairing("halves", 12, 12), [0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]),
        (Pairing("halves", 12, 8, start=2, blocks=2), [2, 3, 6, 7], [4, 5, 8, 9]),
        (Pairing("adjacent", 12, 4, start=7), [7, 9], [8, 10]),
    ],
)
def test_a_pairing_pairs_these_channels(pairing, firsts, seconds):
    first, second = pairing.split(X)
    assert first.tolist() == X[:, firsts].tolist()
    assert second.tolist() == X[:, seconds].tolist()
    assert np.array_equal(pairing.join(first, second, X), X)


def test_the_inverse_turns_back():
    rotation = posenc.RoPE(dim=12).rotation([12345])
    assert np.abs(rotation.inverse()(rotation(X)) - X).max() < 12 * 2**-50


def test_a_quarter_turn_is_exactly_one():
    rotation = Rotation(np.zeros((1, 6)), np.ones((1, 6)), Pairing("adjacent", 12, 12))
    assert rotation(X).tolist() == [[-2, 1, -4, 3, -6, 5, -8, 7, -10, 9, -12, 11]]


def test_sixteen_bits_are_rounded_once():
    torch = pytest.importorskip("torch")
    x = torch.randn(3, 8, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    rotation = posenc.RoPE(dim=8).rotation(torch.tensor([1, 1000, 10**9]))
    assert torch.equal(rotation(x), rotation(x.float()).to(torch.bfloat16))


def test_layouts_say_which_axis_is_time():
    rotation = posenc.RoPE(dim=4).rotation([[0, 1, 2], [3, 4, 5]])
    x = np.random.default_rng(0).normal(size=(2, 5, 3, 4))
    by_head = rotation(x, layout="bhtd")
    for head in range(5):
        assert np.array_equal(by_head[:, head], rotation(x[:, head]))
    assert np.array_equal(rotation(x.swapaxes(1, 2), layout="bthd"), by_head.swapaxes(1, 2))


TURN = posenc.RoPE(dim=4).rotation([0, 1, 2])
REFUSED = [
    (lambda: TURN(np.zeros((3, 5))), ValueError, r"^x must have 4 channels in its last axis; got shape \(3, 5\)"),
    (
        lambda: TURN(np.zeros((2, 4))),
        ValueError,
        r"^x must have as many tokens as the rotation has positions, \(3,\); got shape \(2, 4\)\. Make the rotation",
    ),
    (lambda: TURN(np.zeros((1, 1, 3, 4))), ValueError, r"^layout must be 'bhtd' or 'bthd' for x with heads; got None"),
    (
        lambda: TURN(np.zeros((1, 3, 4)), layout="bhtd"),
        ValueError,
        r"^x must have four axes, 'bhtd'; got shape \(1, 3, 4\)",
    ),
    (lambda: TURN(np.zeros((1, 3, 2, 4)), layout="bhtd"), ValueError, r"^x must have as many tokens"),
    (lambda: TURN(np.zeros((1, 3, 2, 4)), layout="tbhd"), ValueError, r"^layout must be one of"),
    (lambda: TURN(np.zeros((3, 4), int)), TypeError, r"^x must hold floats; got int64"),
    (
        lambda: posenc.RoPE(dim=4).rotation([0, 1, 2], dtype=np.float32)(np.zeros((3, 4))),
        TypeError,
        r"^x must not be more precise than the rotation; got float64 for a float32 rotation",
    ),
    (lambda: Pairing("halves", 8, 10), ValueError, r"^width must fit in the head"),
    (lambda: Pairing("halves", 8, 8, blocks=3), ValueError, r"^blocks must divide width=8 into even parts; got 3"),
    (lambda: Pairing("half", 8, 8), ValueError, r"^layout must be one of 'adjacent', 'halves'; got 'half'"),
    (lambda: Pairing("halves", 8, 7), ValueError, r"^width must be an even integer"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refusals_name_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_angles_add():
    a, b = (posenc.RoPE(dim=2).rotation([p]) for p in (3, 4))
    assert math.isclose(a.cos[0, 0] * b.cos[0, 0] - a.sin[0, 0] * b.sin[0, 0], math.cos(7), rel_tol=1e-14)


@pytest.mark.parametrize("name", ["RoPE", "PoPE", "LieRE", "HeadwiseRoPE"])
def test_operators_are_frozen_and_compared_by_identity(name):
    encoding = posenc.catalog.row(name).samples[0]
    params = encoding.init(np.random.default_rng(0)) or None
    places = np.arange(2) if encoding.axes == 1 else np.zeros((2, encoding.axes), np.int64)
    one, other = (encoding.rotation(places, params, role="query") for _ in range(2))
    assert one != other
    assert len({one, other}) == 2
    with pytest.raises(AttributeError, match="cannot assign"):
        one.heads = 3


def test_the_inverse_turns_each_head_back():
    rotation = posenc.catalog.row("HeadwiseRoPE").samples[0].rotation(np.arange(6).reshape(3, 2))
    x = np.random.default_rng(0).normal(size=(1, rotation.heads, 3, rotation.dim))
    assert rotation.inverse().heads == rotation.heads
    back = rotation.inverse()(rotation(x, layout="bhtd"), layout="bhtd")
    assert np.abs(back - x).max() < rotation.dim * 2**-50


def test_the_inverse_of_a_scaled_rotation_turns_each_head_back():
    angles = np.random.default_rng(1).normal(size=(2, 3, 2))  # heads, tokens, pairs
    rotation = Rotation(1.5 * np.cos(angles), 1.5 * np.sin(angles), Pairing("halves", 4, 4), 1.5, 2)
    x = np.random.default_rng(0).normal(size=(1, 2, 3, 4))
    assert rotation.inverse().heads == 2
    back = rotation.inverse()(rotation(x, layout="bhtd"), layout="bhtd")
    assert np.abs(back - x).max() < 4 * 2**-50


def test_rotations_of_heads_meet_grouped_heads_one_by_one():
    angles = np.random.default_rng(1).normal(size=(6, 3, 2))  # heads, tokens, pairs
    rotation = Rotation(np.cos(angles), np.sin(angles), Pairing("halves", 4, 4), heads=6)
    x = np.random.default_rng(0).normal(size=(2, 6, 3, 4))
    by_head = rotation(x, layout="bhtd").swapaxes(1, 2)
    grouped = x.swapaxes(1, 2).reshape(2, 3, 2, 3, 4)
    assert np.array_equal(rotation(grouped, layout="btkgd"), by_head.reshape(grouped.shape))
