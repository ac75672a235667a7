"""Fourier features of coordinates: the three spacings, exactness at every rotation, and every refusal."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from posenc import FourierFeatures
from posenc.frequencies import Bands


def test_octaves_are_powers_of_two_half_turns() -> None:
    # Mildenhall et al. 2020, eq. 4, with L = 10: π, 2π, …, 512π; each rounds once.
    assert (FourierFeatures().frequencies.radians() == math.pi * 2.0 ** np.arange(10)).all()
    assert FourierFeatures().width == 20


def test_zeros_and_ones_are_exact_however_many_turns_a_step_makes() -> None:
    row = FourierFeatures(bands=24).embed([2**53 - 1])[0]
    assert row[0::2].tolist() == [0.0] * 24
    assert row[1::2].tolist() == [-1.0] + [1.0] * 23
    # A quarter of the fastest period, and the last fraction that a float64 near 1000 has: 2^23·2^-43 half revolutions
    # from a whole.
    assert FourierFeatures(bands=24).embed([2.0**-24])[0, -2:].tolist() == [1.0, 0.0]
    near = FourierFeatures(bands=24).embed([1000 + 2.0**-43])[0, -2]
    assert near == pytest.approx(math.sin(math.pi * 2.0**-20), rel=4 * 2.0**-53)


def test_linear_and_logarithmic_bands_end_at_half_the_resolution() -> None:
    linear = Bands(64, "linear", 224.0).radians() / math.pi
    assert np.abs(linear - np.linspace(1, 112, 64)).max() <= 4 * 2.0**-53 * 112
    steps = Bands(8, "logarithmic", 224.0).radians() / math.pi
    # exp2 of a rounded exponent below 7: 7·2^-53·ln 2 of 112, and a few roundings.
    assert np.abs(steps / 2 ** np.linspace(0, math.log2(112), 8) - 1).max() <= 16 * 2.0**-53
    assert Bands(1, "linear", 9.0).radians() == Bands(1, "logarithmic", 9.0).radians() == math.pi


def test_layouts_hold_the_same_waves_and_the_coordinate_stands_first() -> None:
    points = np.array([[-1.0, -0.3], [0.2, 0.75]])
    pairs = FourierFeatures(bands=3).embed(points)
    lists = FourierFeatures(bands=3, layout="concatenated", coordinate=True).embed(points)
    assert np.array_equal(lists[..., 0], points)
    assert np.array_equal(lists[..., 1:4], pairs[..., 0::2])
    assert np.array_equal(lists[..., 4:], pairs[..., 1::2])


def test_the_slope_of_a_band_is_its_frequency() -> None:
    point = torch.tensor([0.3], dtype=torch.float64, requires_grad=True)
    FourierFeatures(bands=5, coordinate=True).embed(point, dtype=torch.float64)[0, 9].backward()
    assert point.grad is not None
    # The sine of band 4: 16π·cos(16π·0.3), to a few roundings of the angle.
    assert point.grad.item() == pytest.approx(16 * math.pi * math.cos(16 * math.pi * 0.3), rel=1e-13)


def test_claims_follow_the_coordinate() -> None:
    assert FourierFeatures().claims == {"streaming", "unlimited", "fractional", "bounded", "shift-linear"}
    assert FourierFeatures(coordinate=True).claims == {"streaming", "unlimited", "fractional"}


REFUSED = [
    (lambda: FourierFeatures(bands=0), ValueError, r"^bands must be an integer from 1 to 24; got 0"),
    (lambda: FourierFeatures(bands=25), ValueError, r"^bands must be an integer from 1 to 24; got 25"),
    (lambda: FourierFeatures(bands=2.0), TypeError, r"^bands must be an integer"),
    (
        lambda: FourierFeatures(spacing="even"),
        ValueError,
        r"^spacing must be one of 'octaves', 'linear', 'logarithmic'",
    ),
    (lambda: FourierFeatures(resolution=9.0), ValueError, r"^resolution must be given with spacing='linear' or"),
    (lambda: FourierFeatures(spacing="linear"), ValueError, r"^resolution must be given .*got resolution=None"),
    (
        lambda: FourierFeatures(spacing="linear", resolution=2.0),
        ValueError,
        r"^resolution must be a finite number above 2 and at most 65536; got 2\.0",
    ),
    (lambda: FourierFeatures(spacing="logarithmic", resolution="9"), TypeError, r"^resolution must be a finite number"),
    (lambda: FourierFeatures(layout="mixed"), ValueError, r"^layout must be one of 'interleaved', 'concatenated'"),
    (lambda: FourierFeatures(coordinate=1), TypeError, r"^coordinate must be True or False; got 1"),
    (lambda: FourierFeatures().embed([math.inf]), ValueError, r"^positions must be finite"),
    (lambda: FourierFeatures().embed([0.5], {"B": 1}), ValueError, r"^params must hold exactly \[\]"),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED)
def test_refusals_name_the_argument(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_bands_fill_the_widest_row_that_is_accepted() -> None:
    assert Bands(2**19, "linear", 224.0).pairs == 2**19  # two channels a band, 2^20 in all
    with pytest.raises(ValueError, match=r"^count must be an integer from 1 to 524288; got 524289"):
        Bands(2**19 + 1, "linear", 224.0)
