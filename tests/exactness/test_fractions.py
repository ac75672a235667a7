"""Positions between whole ones, down to 1e-40, and the derivative with respect to them."""

from __future__ import annotations

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from exactness import truth
from exactness.backends import WAVES
from posenc.core.checked_positions import checked
from posenc.frequencies import Geometric
from posenc.phase import cosine_sine, fixed_point
from posenc.phase.cos_sin import cos_sin_of_sum

PROGRESSIONS = ((1e4, 64), (1e12, 32))
#: As in test_phase.py, and two roundings more: of the rate, and of its product with what lies below 2^-52 of a step.
ULPS_OF_TRUTH = 4.5


def positions() -> list[float]:
    rng = random.Random(11)
    scales = [10.0**exponent * rng.uniform(1, 10) for exponent in range(-40, 9) for _ in range(5)]
    near = [1 - 2**-53, 1 + 2**-52, 0.5, 2**-52, 3 * 2**-54, 1e9 + 1 / 3, 2**31 + 0.25, 2**52 - 0.5]
    return [sign * value for value in scales + near for sign in (1.0, -1.0)]


@pytest.fixture(scope="module")
def sampled() -> dict:
    places = positions()
    return {progression: (places, truth.waves(places, *progression)) for progression in PROGRESSIONS}


def wrong_entries(sampled: dict, backend: str) -> tuple[int, int]:
    seen = wrong = 0
    for (base, dim), (places, values) in sampled.items():
        expected = truth.tables(values)
        got = WAVES[backend](places, Geometric(dim, base), "float32")
        if backend == "jax":  # XLA on the CPU writes 0 for a float32 below 2^-126
            expected = tuple(np.where(np.abs(part) < 2.0**-126, 0.0, part) for part in expected)
        seen, wrong = seen + 2 * expected[0].size, wrong + truth.differing(got, expected)
    return seen, wrong


@pytest.mark.parametrize("backend", WAVES)
def test_fractions_are_correctly_rounded_in_float32(sampled: dict, backend: str) -> None:
    seen, wrong = wrong_entries(sampled, backend)
    assert seen > 45_000
    assert wrong == 0


@pytest.mark.parametrize("backend", WAVES)
def test_fractions_in_float64(sampled: dict, backend: str) -> None:
    for (base, dim), (places, values) in sampled.items():
        expected = truth.tables(values, truth.FLOAT64)
        for got, true in zip(WAVES[backend](places, Geometric(dim, base), "float64"), expected, strict=True):
            assert truth.ulps(got, true) <= ULPS_OF_TRUTH


def test_a_fraction_cut_short_would_be_seen(sampled: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    split = fixed_point.whole_and_fraction

    def cut(places):
        whole, fraction = split(places)
        return whole, np.float32(fraction)

    monkeypatch.setattr(fixed_point, "whole_and_fraction", cut)
    assert wrong_entries(sampled, "numpy")[1] > 1000


def test_whole_floats_are_whole_numbers() -> None:
    places = np.array([0, 1, 3, 2**24 + 1, 2**31, 2**52 + 1, -(2**53)])
    for backend in WAVES:
        mine = WAVES[backend](places, Geometric(64), "float64")
        theirs = WAVES[backend](places.astype(np.float64), Geometric(64), "float64")
        assert all(a.tobytes() == b.tobytes() for a, b in zip(mine, theirs, strict=True))


@pytest.mark.parametrize("place", [0.0, 0.3, -7.25, 1023.5])
def test_gradcheck(place: float) -> None:
    places = torch.tensor([place, place + 1], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda p: cosine_sine(p, Geometric(6), dtype=torch.float64), (places,))


def test_gradients_are_the_formula() -> None:
    # d cos(pω)/dp = -ω sin(pω), also where a difference quotient sees nothing.
    places, encoding = np.array([[0.5, 3.0], [1e6 + 0.125, 2.0**40 + 0.5]]), Geometric(8)
    cosine, sine = (part.sum((0, 1)) * encoding.radians() for part in cosine_sine(places, encoding))
    expected = -sine.sum(), cosine.sum()

    given = torch.from_numpy(places).requires_grad_()
    for wave, true in zip(cosine_sine(given, encoding, dtype=torch.float64), expected, strict=True):
        (slope,) = torch.autograd.grad(wave.sum(), given, retain_graph=True)
        assert slope.sum().item() == pytest.approx(true, rel=1e-14)
    with jax.enable_x64(True):
        for which, true in enumerate(expected):
            slope = jax.grad(lambda p, which=which: cosine_sine(p, encoding, dtype="float64")[which].sum())(
                jnp.asarray(places)
            )
            assert float(slope.sum()) == pytest.approx(true, rel=1e-14)


def test_gradients_pass_the_blocks_of_a_long_table() -> None:
    places = torch.linspace(0, 100, 40_000, dtype=torch.float64).reshape(2, -1).requires_grad_()
    encoding = Geometric(8)
    cosine, sine = cosine_sine(places, encoding, dtype=torch.float64)
    (slope,) = torch.autograd.grad(sine.sum(), places)
    expected = (cosine.detach().numpy() * encoding.radians()).sum(-1)
    assert np.abs(slope.numpy() - expected).max() < 1e-14


@pytest.mark.parametrize("parts", [([5], [0.25]), ([0.25], [5]), ([5.0], [0.25])])
def test_a_whole_coordinate_and_a_fraction_add_to_the_phase_of_their_sum(parts: tuple[list, list]) -> None:
    base, dim = PROGRESSIONS[0]
    encoding = Geometric(dim, base)
    got = cos_sin_of_sum([checked(part) for part in parts], [encoding, encoding], np.float64)
    for mine, true in zip(got, truth.tables(truth.waves([5.25], base, dim), truth.FLOAT64), strict=True):
        assert truth.ulps(mine, true) <= ULPS_OF_TRUTH
