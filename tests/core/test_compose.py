"""Composition: each wrapper against the numbers of what it wraps."""

import numpy as np
import pytest

import posenc
from posenc.compose import Backward, Concatenated, LearnedScale, Partial, PerLayer, Scaled, Sum

SINE = posenc.Sinusoidal(dim=6)
PLACES = np.array([[0, 1, 77], [3, 2**40, 5]])


def test_a_sum_adds_and_names_the_parameters_of_its_parts():
    learned = LearnedScale(SINE, initial=2.0)
    total = Sum((SINE, learned))
    params = total.init(np.random.default_rng(0))
    assert set(params) == set(total.shapes) == {"1.scale"}
    assert np.array_equal(total.embed(PLACES, params), 3.0 * SINE.embed(PLACES))
    assert "learned" in total.claims


def test_a_sum_in_float16_is_rounded_once():
    parts = (SINE, posenc.Sinusoidal(dim=6, base=100.0))
    want = sum(part.embed(PLACES, dtype=np.float32) for part in parts).astype(np.float16)
    assert np.array_equal(Sum(parts).embed(PLACES, dtype=np.float16), want)


def test_a_sum_of_different_waves_is_not_shift_linear():
    assert "shift-linear" in Sum((SINE, SINE)).claims
    assert "shift-linear" not in Sum((SINE, posenc.Sinusoidal(dim=6, base=100.0))).claims


def test_scaled_and_learned_scale_multiply():
    assert np.array_equal(Scaled(SINE, -0.25).embed(PLACES), -0.25 * SINE.embed(PLACES))
    assert np.array_equal(LearnedScale(SINE).embed(PLACES, {"scale": np.array(7.0)}), 7.0 * SINE.embed(PLACES))


def test_a_learned_scale_has_a_gradient_and_the_table_has_none():
    torch = pytest.importorskip("torch")
    scale = torch.tensor(1.5, requires_grad=True)
    rows = LearnedScale(SINE).embed(torch.tensor([1, 2]), {"scale": scale})
    rows.sum().backward()
    table = SINE.embed(torch.tensor([1, 2]))
    assert not table.requires_grad
    assert torch.allclose(scale.grad, table.sum())


def test_concatenated_widens_and_keeps_the_embedding():
    x = np.random.default_rng(0).normal(size=(2, 3, 5))
    wide = Concatenated(SINE).attach(x, PLACES)
    assert wide.shape == (2, 3, 11)
    assert np.array_equal(wide[..., :5], x)
    assert np.array_equal(wide[..., 5:], SINE.embed(PLACES))


@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_backward_is_the_rotation_by_negative_positions(pairing):
    rope = posenc.RoPE(dim=8, pairing=pairing, scaling=posenc.YaRN(factor=8.0, original=128))
    x = np.random.default_rng(0).normal(size=(2, 3, 8))
    assert np.array_equal(Backward(rope).rotation(PLACES)(x), rope.rotation(-PLACES)(x))
    assert np.array_equal(Backward(Backward(rope)).rotation(PLACES)(x), rope.rotation(PLACES)(x))
    assert Backward(rope).rotation(PLACES).factor == rope.attention_factor != 1.0


@pytest.mark.parametrize("start", [0, 3, 5])
@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_partial_turns_its_slice_alone(start, pairing):
    rope = posenc.RoPE(dim=8, pairing=pairing)
    x = np.random.default_rng(0).normal(size=(2, 3, 13))
    rotated = Partial(rope, dim=13, start=start).rotation(PLACES)(x)
    inside = slice(start, start + 8)
    assert np.array_equal(rotated[..., inside], rope.rotation(PLACES)(x[..., inside]))
    assert np.array_equal(np.delete(rotated, inside, -1), np.delete(x, inside, -1))


def test_partial_takes_the_roles_of_what_it_holds():
    values = Partial(posenc.ValueRotation(posenc.RoPE(dim=4)), dim=6)
    x = np.random.default_rng(0).normal(size=(3, 6))
    assert values.roles == ("value", "output")
    there = values.rotation([5, 6, 7], role="value")(x)
    assert np.allclose(values.rotation([5, 6, 7], role="output")(there), x)


def test_per_layer_gives_each_layer_its_own():
    plan = PerLayer((SINE, None, SINE))
    assert [plan.at(i) for i in range(3)] == [SINE, None, SINE]
    assert hash(plan) == hash(PerLayer((SINE, None, SINE)))


REFUSED = [
    (lambda: Sum((SINE,)), TypeError, r"^parts must be a tuple of two or more encodings"),
    (lambda: Sum((SINE, posenc.RoPE(dim=6))), TypeError, r"^parts must be a tuple of encodings that add; got RoPE"),
    (lambda: Sum((SINE, posenc.Sinusoidal(dim=4))), ValueError, r"^parts must have one width; got \[6, 4\]"),
    (lambda: Scaled(SINE, float("nan")), ValueError, r"^factor must be a finite number"),
    (
        lambda: Sum((posenc.Sinusoidal(dim=4), posenc.GridSinusoidal(dims=(2, 2)))),
        ValueError,
        r"^parts must share their axes; got \[1, 2\]",
    ),
    (lambda: Scaled("sine", 1.0), TypeError, r"^encoding must be an encoding that adds; got 'sine'"),
    (lambda: LearnedScale(SINE, "1"), TypeError, r"^initial must be a finite number"),
    (lambda: LearnedScale(None), TypeError, r"^encoding must be an encoding that adds; got None"),
    (lambda: Concatenated(posenc.RoPE(dim=6)), TypeError, r"^encoding must be an encoding that adds; got RoPE"),
    (
        lambda: Concatenated(SINE).attach(np.zeros((1, 4, 3)), [0]),
        ValueError,
        r"^x must have one token for each of 1 positions",
    ),
    (
        lambda: SINE.attach(np.zeros((1, 4, 6)), [0]),
        ValueError,
        r"^x must have shape \(\.\.\., 1, 6\); got \(1, 4, 6\)",
    ),
    (
        lambda: SINE.attach(np.zeros((1, 3, 6)), np.zeros((2, 3), int)),
        ValueError,
        r"^x must have the batch of positions, \(2,\); got \(1,\)",
    ),
    (
        lambda: Concatenated(SINE).attach(np.zeros((2, 3, 4)), np.zeros((3, 3), int)),
        ValueError,
        r"^positions must be \(n,\) or \(\*batch, n\) for x of shape \(2, 3, 4\); got shape \(3, 3\)",
    ),
    (lambda: Partial(SINE, dim=8), TypeError, r"^encoding must be an encoding that rotates; got Sinusoidal"),
    (lambda: Partial(posenc.RoPE(dim=8), dim=4), ValueError, r"^dim must be an integer from 8"),
    (lambda: Partial(posenc.RoPE(dim=8), dim=9, start=2), ValueError, r"^start must leave room for 8 rotated channels"),
    (lambda: Backward(SINE), TypeError, r"^encoding must be an encoding that rotates; got Sinusoidal"),
    (lambda: PerLayer(()), TypeError, r"^layers must be a tuple of encodings, at least one; got \(\)"),
    (lambda: PerLayer((1,)), TypeError, r"^layers must be a tuple of encodings or None; got 1"),
    (lambda: PerLayer((None,)).at(1), ValueError, r"^layer must be an integer from 0 to 0; got 1"),
    (
        lambda: LearnedScale(SINE).embed([0]),
        ValueError,
        r"^params must hold what LearnedScale learns, \['scale'\]; got None",
    ),
    (lambda: LearnedScale(SINE).embed([0], [1]), TypeError, r"^params must map names to arrays; got \[1\]"),
    (
        lambda: LearnedScale(SINE).embed([0], {"s": 1}),
        ValueError,
        r"^params must hold exactly \['scale'\] for LearnedScale; got \['s'\]",
    ),
    (
        lambda: LearnedScale(SINE).embed([0], {"scale": np.ones(2)}),
        ValueError,
        r"^params\['scale'\] must have shape \(\) for LearnedScale; got \(2,\)",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refusals_name_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call()
