"""Random Fourier features: what a seed gives, the law of the draws, and every refusal."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest
import torch

from posenc import RandomFourierFeatures
from posenc.frequencies.projected import Drawn


def test_a_seed_gives_these_draws_for_ever() -> None:
    assert RandomFourierFeatures(features=3).frequencies.draws() == (
        -0.11777672916650772, 2.514159679412842, 0.5487430691719055,
    )  # fmt: skip
    long = RandomFourierFeatures(features=9).frequencies.draws()
    assert long[:3] == RandomFourierFeatures(features=3).frequencies.draws()
    assert Drawn(3).draws() == long[:3]
    assert RandomFourierFeatures(features=3, seed=1).frequencies.draws() != long[:3]


def test_draws_are_the_generators_uniform_numbers_by_box_and_muller() -> None:
    """By another route: NumPy's own uniform numbers, which are these words times 2^-53."""
    uniform = np.random.Generator(np.random.PCG64(11)).random(400).reshape(-1, 2)
    wanted = np.sqrt(-2 * np.log(uniform[:, 0] + 2.0**-53)) * np.cos(2 * np.pi * uniform[:, 1])
    found = RandomFourierFeatures(features=200, seed=11).frequencies.draws()
    # Rounded to float32: half a unit of numbers below 8.
    assert np.abs(np.array(found) - wanted).max() <= 8 * 2.0**-24


def test_draws_are_normal() -> None:
    draws = np.sort(RandomFourierFeatures(features=20_000, seed=2).frequencies.draws())
    exact = np.array([0.5 * math.erfc(-draw / math.sqrt(2)) for draw in draws])
    steps = np.arange(1, 20_001) / 20_000
    distance = max(np.abs(exact - steps).max(), np.abs(exact - steps + 1 / 20_000).max())
    assert distance * math.sqrt(20_000) <= 1.95  # Kolmogorov: exceeded by one sample in a thousand


def test_std_scales_the_frequencies() -> None:
    one, ten = (RandomFourierFeatures(features=5, std=std) for std in (1.0, 8.0))
    assert np.array_equal(ten.embed([0.25]), one.embed([2.0]))
    assert np.abs(one.frequencies.radians() / (2 * np.pi) - one.frequencies.draws()).max() <= 2 * 2.0**-52 * 3


def test_every_library_has_the_same_table_and_nothing_is_learned() -> None:
    encoding, points = RandomFourierFeatures(features=6, std=4.0), np.linspace(-1, 1, 9, dtype=np.float32)
    table = encoding.embed(points, dtype=np.float32)
    assert np.array_equal(encoding.embed(torch.tensor(points)).numpy(), table)
    assert np.abs(np.asarray(encoding.embed(jnp.asarray(points))) - table).max() <= 1.2e-7
    assert encoding.init(np.random.default_rng(0)) == {}
    assert np.array_equal(
        table[:, :6], RandomFourierFeatures(features=6, std=4.0, first="sine").embed(points, dtype=np.float32)[:, 6:]
    )


REFUSED = [
    (lambda: RandomFourierFeatures(features=0), ValueError, r"^features must be an integer from 1"),
    (lambda: RandomFourierFeatures(features="4"), TypeError, r"^features must be an integer"),
    (lambda: RandomFourierFeatures(features=4, std=0.0), ValueError, r"^std must be a finite number above 0"),
    (lambda: RandomFourierFeatures(features=4, seed=-1), ValueError, r"^seed must be an integer from 0"),
    (lambda: RandomFourierFeatures(features=4, seed=1.5), TypeError, r"^seed must be an integer"),
    (lambda: RandomFourierFeatures(features=4, first="sin"), ValueError, r"^first must be one of 'cosine', 'sine'"),
    (lambda: RandomFourierFeatures(features=4, axes=0), ValueError, r"^axes must be an integer from 1"),
    (
        lambda: RandomFourierFeatures(features=2, matrix=(0.5, 1.0)),
        ValueError,
        r"^matrix must be 1 tuples",
    ),
    (lambda: RandomFourierFeatures(features=2, matrix=((0.5,),)), ValueError, r"^matrix must be 1 tuples"),
    (lambda: RandomFourierFeatures(features=2, matrix=3), ValueError, r"^matrix must be 1 tuples"),
    (lambda: RandomFourierFeatures(features=1, matrix=((np.inf,),)), ValueError, r"^matrix must be a finite number"),
    (lambda: RandomFourierFeatures(features=1, seed=3, matrix=((1.0,),)), ValueError, r"^seed must be left at 0"),
    (lambda: RandomFourierFeatures(features=4, axes=2).embed([0, 1, 2]), ValueError, r"^positions must"),
    (lambda: RandomFourierFeatures(features=4).embed(["a"]), TypeError, r"^positions must hold numbers"),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED)
def test_refusals_name_the_argument(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
