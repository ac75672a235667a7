"""Row 26: the digits of a number of any length under square waves, its encoding under sinusoids, next to the dials."""

import math

import numpy as np
import pytest

from posenc import plot
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.inspect import dials, number_waves

NUMBERS = (0, 1, 150, 929_505, 2**53)


@pytest.mark.parametrize("number", NUMBERS)
def test_digits_of_any_length(number):
    shown = number_waves(number)
    assert "".join(map(str, shown.digits[::-1])) == f"{number:b}"
    assert shown.periods.tolist() == [2 ** (index + 1) for index in range(len(shown.digits))]


def test_150_beside_its_dials():
    shown = number_waves(150)
    assert shown.lines()[0] == "150 = 10010110 in binary"
    np.testing.assert_array_equal(shown.dials.revolutions, dials(Sinusoidal(dim=8), 150).revolutions)
    assert shown.numbers.tolist() == list(range(151)), "one axis, from 0 to the number"
    at = np.flatnonzero(shown.places == 150)
    np.testing.assert_allclose(shown.sines[:, at[0]], Sinusoidal(dim=8).embed([150])[0, ::2], atol=1e-15)


@pytest.mark.parametrize("number", NUMBERS)
def test_all_waves_lie_over_one_axis(number):
    shown = number_waves(number)
    assert number in shown.numbers
    assert len(shown.numbers) <= 513
    for at in (0, len(shown.numbers) // 2, -1):
        assert (
            "".join(map(str, shown.bits[::-1, at]))
            == f"{shown.numbers[at]:0{len(shown.digits)}b}"[-len(shown.digits) :]
        )
    whole = Sinusoidal(dim=8).embed(shown.numbers)[:, ::2].T
    np.testing.assert_allclose(shown.sines[:, ::8], whole, atol=1e-11)
    if number <= 512:
        for pair, sines in enumerate(shown.sines):
            expected = [math.sin(place / 10_000 ** (pair / 4)) for place in shown.places]
            np.testing.assert_allclose(sines, expected, atol=1e-11)


def test_the_picture_ends_at_the_number():
    axes = plot.number_waves(Sinusoidal(dim=8), 150)
    title = axes[0].figure.get_suptitle()
    assert "150 = 10010110" in title
    assert len(axes) == 8 + 4
    assert {tuple(panel.get_xlim()) for panel in axes} == {(0.0, 150.0)}, "one axis for all"
    bit = axes[3].lines[0]
    flips = np.flatnonzero(np.diff(bit.get_ydata()))
    assert np.diff(bit.get_xdata()[flips]).tolist() == [8] * (len(flips) - 1)
