"""Scalings at the edges of what they take, and what kernels are given of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from posenc import Clipped, Linear, RoPE, YaRN
from posenc.frequencies import Geometric, Projected, Rescaled


@pytest.mark.parametrize("numerics", ["exact", "float32"])
def test_the_ramp_of_yarn_ends_at_the_last_channel_at_most(numerics: str) -> None:
    """ω' = ω·(1 - ρ) + ω/s·ρ with ρ from pair 0 to min(⌈7.3⌉, dim - 1) = 7, as the released code has it."""
    scaling = YaRN(4.0, original=2**27, beta_fast=1e7)
    frequencies = 1e4 ** (-np.arange(4) / 4)
    ends = [8 * math.log(2**27 / (beta * 2 * math.pi)) / (2 * math.log(1e4)) for beta in (1e7, 1.0)]
    assert (math.floor(ends[0]), math.ceil(ends[1])) == (0, 8)
    ramp = np.arange(4) / 7
    expected = scaling.attention_factor * np.sin(frequencies * (1 - ramp) + frequencies / 4 * ramp)
    rotation = RoPE(dim=8, numerics=numerics, scaling=scaling).rotation([1], dtype=np.float64)
    assert np.abs(rotation.sin[0] - expected).max() <= 16 * 2.0**-24


def test_what_kernels_take_has_the_factor_of_the_scaling() -> None:
    """0.1·ln s + 1, eq. 22 of Peng et al. 2023; without it compiled turns would differ from those of the encoding."""
    fixed = RoPE(dim=8, scaling=YaRN(4.0, original=64)).fixed_frequencies
    assert fixed is not None
    assert fixed.factor == pytest.approx(0.1 * math.log(4.0) + 1, rel=1e-15)


def test_a_stretch_is_at_most_a_million() -> None:
    assert Linear(1e6).factor == 1e6
    with pytest.raises(ValueError, match=r"^factor must be a finite number from 1 to 1e\+06; got 1000000\.5"):
        Linear(1e6 + 0.5)


def test_one_clipped_pair_keeps_its_frequency() -> None:
    """The window of one pair is (1 + cos 0) / 2 = 1, as linspace(0, π, 1) gives the released code."""
    assert np.array_equal(Rescaled(Geometric(8), Clipped(count=1)).radians(), Geometric(8).radians())
    assert Rescaled(Geometric(8), Clipped(count=1, soft=False)).radians()[-1] == 0.0


@pytest.mark.parametrize("row", [(), 0.5])
def test_a_projection_has_at_least_one_number(row: object) -> None:
    with pytest.raises(TypeError, match=r"^row must be a tuple of numbers, at least one; got .*Give \(0.25, -0.5\)"):
        Projected(row)
