"""XPos, two bases, learned frequencies and the rotation of values: what the oracles do not see, and every message."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from posenc import DualBaseRoPE, LearnedRoPE, Partial, RoPE, ValueRotation, XPos
from posenc.attention import attention
from posenc.torch import Rotate, RotateValues, module

RNG = np.random.default_rng(0)


def test_xpos_decays_with_distance_and_forgets_its_centre() -> None:
    q, k = RNG.standard_normal((2, 1, 8))
    far = []
    for centre in (0, 12_000):
        encoding = XPos(dim=8, centre=centre)
        far.append((encoding.rotation([20_000], role="query")(q) @ encoding.rotation([17_000], role="key")(k).T).item())
    # A stretch of 2^±70 and its inverse: relative roundings alone remain, of 8 terms.
    assert far[0] == pytest.approx(far[1], rel=64 * 2.0**-52)
    one = np.eye(8)[:1]
    pair = XPos(dim=8).rotation([20_000], role="query")(one) @ XPos(dim=8).rotation([17_000], role="key")(one).T
    assert pair.item() == pytest.approx((0.4 / 1.4) ** (3000 / 512) * np.cos(3000), rel=1e-12)


def test_xpos_is_rotated_back_where_it_shrinks_and_where_it_grows() -> None:
    encoding, x = XPos(dim=8), RNG.standard_normal((3, 8)).astype(np.float32)
    for role in ("query", "key"):
        rotation = encoding.rotation([0, 28_000, -28_000], role=role, dtype=np.float32)
        assert np.abs(rotation.inverse()(rotation(x)) - x).max() <= 16 * 2.0**-23 * np.abs(x).max()
    inner = Partial(encoding, dim=10, start=1).rotation([9_000], role="key")
    y = RNG.standard_normal((1, 10))
    assert np.abs(inner.inverse()(inner(y)) - y).max() <= 16 * 2.0**-52 * np.abs(y).max()


def test_xpos_too_far_away_is_nan_where_it_cannot_be_seen() -> None:
    encoding = XPos(dim=4)
    found = torch.func.vmap(lambda p: encoding.rotation(p, role="key").cos)(torch.tensor([[5], [30_000]]))
    assert found[0].isfinite().all()
    assert found[1].isnan().all()


def test_attention_with_rotated_values_by_hand() -> None:
    """output(m) = Σ weight(m, n)·R_(n-m) v_n, with a quarter turn a step: base 1 at positions in units of π/2."""
    v = np.array([[[[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]]])
    q, quarter = np.zeros((1, 1, 3, 2)), np.pi / 2
    places = np.arange(3) * quarter
    encoding = ValueRotation(RoPE(dim=2))
    found = attention(
        q, q, v, query_positions=places, key_positions=places, layout="bhtd", encodings=[encoding], causal=True
    ).output[0, 0]
    # R_0 (1,0); then R_-1 (1,0) = (0,-1) with (0,2); then R_-2 (1,0) = (-1,0), R_-1 (0,2) = (2,0), and (3,0).
    wanted = [[1.0, 0.0], [0.0, 0.5], [4 / 3, 0.0]]
    assert np.abs(found - np.array(wanted)).max() <= 8 * 2.0**-52


def test_rotated_values_leave_the_weights_alone_and_take_grouped_heads() -> None:
    q, k, v = RNG.standard_normal((2, 12, 4, 8)), RNG.standard_normal((2, 4, 6, 8)), RNG.standard_normal((2, 4, 6, 8))
    encoding, query_positions, key_positions = RoPE(dim=8), np.array([5, 2, 9, 0]), np.arange(6) * 3
    given = {"query_positions": query_positions, "key_positions": key_positions, "layout": "bhtd"}
    plain = attention(q, k, v, encodings=[encoding], **given)
    both = attention(q, k, v, encodings=[encoding, ValueRotation(encoding)], **given)
    assert np.array_equal(plain.weights, both.weights)
    rows = [encoding.rotation([n - m for n in key_positions])(v[1, 2]) for m in query_positions]
    wanted = np.stack([plain.weights[1, 7, i] @ row for i, row in enumerate(rows)])
    assert np.abs(both.output[1, 7] - wanted).max() <= 64 * 2.0**-52
    moved = attention(
        q,
        k,
        v,
        encodings=[encoding, ValueRotation(encoding)],
        query_positions=query_positions + 50,
        key_positions=key_positions + 50,
        layout="bhtd",
    )
    assert np.abs(moved.output - both.output).max() <= 256 * 2.0**-52


def test_modules_of_values() -> None:
    held = module(ValueRotation(LearnedRoPE(dim=8)))
    assert isinstance(held, RotateValues)
    v, key = torch.ones(1, 2, 5, 8), torch.arange(5)
    rotated = held(v, key, layout="bhtd")
    assert torch.equal(held(v.transpose(1, 2), key, layout="bthd").transpose(1, 2), rotated)
    assert (held.back(rotated, key, layout="bhtd") - v).abs().max() <= 8 * 2.0**-23


def test_a_frequency_learns_also_far_out() -> None:
    rates = torch.tensor([0.5, -0.25], dtype=torch.float64, requires_grad=True)
    rotation = LearnedRoPE(dim=4).rotation(torch.tensor([10**6]), {"frequencies": rates}, dtype=torch.float64)
    rotation.cos.sum().backward()
    assert rates.grad is not None
    wanted = [-1e6 * np.sin(0.5e6), -1e6 * np.sin(-0.25e6)]
    assert np.abs(rates.grad.numpy() - wanted).max() <= 1e6 * 8 * 2.0**-52


def test_a_frequency_that_is_no_number_gives_none() -> None:
    rotation = LearnedRoPE(dim=6).rotation([3], {"frequencies": np.array([np.nan, 2.0**27, 1.0])})
    assert np.isnan(rotation.cos[0, :2]).all()
    assert rotation.cos[0, 2] == np.cos(3.0)


def test_two_bases_are_two_rotations() -> None:
    x, places = RNG.standard_normal((5, 12)), np.arange(5) * 1000
    for pairing in ("adjacent", "halves"):
        found = DualBaseRoPE(dim=12, base=50.0, second_base=900.0, pairing=pairing).rotation(places)(x)
        halves = [
            RoPE(dim=6, base=base, pairing=pairing).rotation(places)(part)
            for base, part in zip((50.0, 900.0), (x[:, :6], x[:, 6:]), strict=True)
        ]
        assert np.array_equal(found, np.concatenate(halves, -1))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: XPos(dim=3), ValueError, r"^dim must be an even integer from 2"),
        (lambda: XPos(dim=4, base=0.0), ValueError, r"^base must be a finite number above 0"),
        (lambda: XPos(dim=4, scale_base=0), ValueError, r"^scale_base must be a finite number above 0"),
        (lambda: XPos(dim=4, gamma=-1.0), ValueError, r"^gamma must be a finite number above 0"),
        (lambda: XPos(dim=4, centre=0.5), TypeError, r"^centre must be an integer"),
        (lambda: XPos(dim=4, pairing="both"), ValueError, r"^pairing must be one of"),
        (lambda: XPos(dim=4).rotation([0]), ValueError, r"^role must be 'query' or 'key' for XPos.*got 'both'"),
        (lambda: XPos(dim=4).rotation([0], role="value"), ValueError, r"^role must be 'query' or 'key'"),
        (lambda: XPos(dim=4).rotation([28_400], role="key"), ValueError,
            r"^positions must be within 28328 steps of centre=0; got 28400 to 28400"),
        (lambda: XPos(dim=4).rotation([np.inf], role="key"), ValueError, r"^positions must be finite"),
        (lambda: LearnedRoPE(dim=3), ValueError, r"^dim must be an even integer from 2"),
        (lambda: LearnedRoPE(dim=4, base=-1), ValueError, r"^base must be a finite number above 0"),
        (lambda: LearnedRoPE(dim=4, pairing="x"), ValueError, r"^pairing must be one of"),
        (lambda: LearnedRoPE(dim=4).init(3), TypeError, r"^rng must be a numpy.random.Generator"),
        (lambda: LearnedRoPE(dim=4).rotation([0]), ValueError, r"^params must hold what LearnedRoPE learns"),
        (lambda: LearnedRoPE(dim=4).rotation([0], {"frequencies": np.ones(2)}, role="all"), ValueError,
            r"^role must be one of"),
        (lambda: DualBaseRoPE(dim=6), ValueError, r"^dim must be a multiple of 4, for whole pairs in each half; got 6"),
        (lambda: DualBaseRoPE(dim=2), ValueError, r"^dim must be an even integer from 4"),
        (lambda: DualBaseRoPE(dim=4, base=0), ValueError, r"^base must be a finite number above 0"),
        (lambda: DualBaseRoPE(dim=4, second_base=0), ValueError, r"^second_base must be a finite number above 0"),
        (lambda: DualBaseRoPE(dim=4, pairing="x"), ValueError, r"^pairing must be one of"),
        (lambda: DualBaseRoPE(dim=4, numerics="x"), ValueError, r"^numerics must be one of"),
        (lambda: DualBaseRoPE(dim=4).rotation([0], role="x"), ValueError, r"^role must be one of"),
        (lambda: ValueRotation(3), TypeError, r"^encoding must be an encoding that rotates queries and keys"),
        (lambda: ValueRotation(XPos(dim=4)), ValueError, r"^encoding must rotate queries and keys alike and keep "
        r"lengths"),
        (lambda: ValueRotation(ValueRotation(RoPE(dim=4))), ValueError, r"^encoding must rotate queries and keys"),
        (lambda: ValueRotation(RoPE(dim=4)).rotation([0], role="query"), ValueError, r"^role must be 'value' or"),
        (lambda: Rotate(ValueRotation(RoPE(dim=4))), TypeError,
            r"^encoding must rotate queries and keys; got ValueRotation"),
        (lambda: RotateValues(RoPE(dim=4)), TypeError, r"^encoding must rotate values; got RoPE"),
        (lambda: RotateValues(ValueRotation(RoPE(dim=4)))(torch.ones(1, 1, 2, 6), torch.arange(2), layout="bhtd"),
            ValueError, r"^v must have shape 'bhtd' with d = 4"),
        (lambda: RotateValues(ValueRotation(RoPE(dim=4)))(torch.ones(1, 1, 2, 4), torch.arange(3), layout="bhtd"),
            ValueError, r"^key_positions must have shape"),
    ],
)  # fmt: skip
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
