"""Row 5: frequency, wavelength, phase and derivative."""

import math

import numpy as np
import pytest
import torch

from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.inspect import derivative, spectrum

RECORDS = (
    Sinusoidal(dim=8),
    Sinusoidal(dim=16, base=100.0, start=1, scale=0.5),
    Sinusoidal(dim=12, layout="concatenated", exponent="i/(d/2-1)"),
    Sinusoidal(dim=10, exponent="i/d", first="cosine"),
    Sinusoidal(dim=7, odd="truncate"),
    Sinusoidal(dim=9, odd="zero", layout="concatenated"),
)


def test_wavelengths_are_a_geometric_progression_of_periods():
    seen = spectrum(Sinusoidal(dim=8))
    assert seen.wavelengths.round(4).tolist() == [6.2832, 62.8319, 628.3185, 6283.1853]
    assert seen.exponents.tolist() == [0.0, 0.25, 0.5, 0.75]
    assert seen.ratio == pytest.approx(10.0, rel=1e-15)
    assert [f"{frequency:.3f}" for frequency in seen.frequencies] == ["1.000", "0.100", "0.010", "0.001"]


def test_a_wavelength_is_the_period_and_not_the_power_alone():
    encoding = Sinusoidal(dim=4, base=81.0)
    length = spectrum(encoding).wavelengths[1]
    assert length == pytest.approx(2 * math.pi * 9.0, rel=1e-15)
    first, after, power = encoding.embed([10.0, 10.0 + length, 10.0 + 9.0])
    np.testing.assert_allclose(after[2:], first[2:], atol=1e-13)
    assert abs(power[3] - first[3]) > 0.5


def test_low_dimensions_are_fine_and_high_ones_coarse():
    steps = np.abs(np.diff(Sinusoidal(dim=128).embed(np.arange(100)), axis=0)).max(axis=0)
    pairs = steps.reshape(-1, 2).max(axis=1)
    assert (np.diff(pairs) < 0).all()
    assert pairs[0] > 0.9
    assert pairs[-1] < 2e-4


def test_sine_and_cosine_are_a_quarter_turn_apart():
    encoding = Sinusoidal(dim=6)
    quarter = spectrum(encoding).wavelengths / 4
    places = np.arange(50.0)
    for pair in range(3):
        later = encoding.embed(places + quarter[pair])
        np.testing.assert_allclose(later[:, 2 * pair], encoding.embed(places)[:, 2 * pair + 1], atol=1e-12)


@pytest.mark.parametrize("encoding", RECORDS)
def test_the_derivative_is_that_of_autograd(encoding):
    positions = torch.tensor([0.0, 0.5, 3.0, 150.0, 9999.25], dtype=torch.float64, requires_grad=True)
    rows = encoding.embed(positions, dtype=torch.float64)
    slopes = []
    for dimension in range(encoding.width):
        (slope,) = torch.autograd.grad(rows[:, dimension].sum(), positions, retain_graph=True)
        slopes.append(slope.numpy())
    ours = derivative(encoding, positions.detach().numpy())
    # Both are products of numbers below 1 from the same exact phase: a few units of 2^-53.
    np.testing.assert_allclose(ours, np.stack(slopes, axis=-1), atol=2e-15)


def test_the_derivative_is_the_formula_of_the_lecture():
    position, (sine, cosine) = 7, derivative(Sinusoidal(dim=6), 7)[2:4]
    rate = 10_000 ** (-2 / 6)
    assert sine == pytest.approx(rate * math.cos(position * rate), abs=1e-16)
    assert cosine == pytest.approx(-rate * math.sin(position * rate), abs=1e-16)


def test_the_derivative_is_the_limit_of_differences():
    encoding, step = Sinusoidal(dim=10, exponent="i/d", first="cosine"), 2.0**-17
    there = (encoding.embed([20.5 + step]) - encoding.embed([20.5 - step])) / (2 * step)
    # The third derivative is at most 1: step²/6 = 1e-11, and rounding 2^-53/step = 1.5e-11.
    np.testing.assert_allclose(derivative(encoding, 20.5), there[0], atol=4e-11)
