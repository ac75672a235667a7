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
    # Every wave ends at the number, where its sine is the encoding's.
    np.testing.assert_allclose(shown.sines[:, -1], Sinusoidal(dim=8).embed([150])[0, ::2], atol=1e-15)


def test_a_window_holds_three_periods_of_its_own_wave():
    shown = number_waves(150)
    np.testing.assert_allclose(shown.pair_windows[:, 1] - shown.pair_windows[:, 0], 3 * shown.dials.wavelengths)
    for pair, (start, end) in enumerate(shown.pair_windows):
        places = np.linspace(start, end, shown.sines.shape[1])
        expected = [math.sin(place / 10_000 ** (pair / 4)) for place in places]
        np.testing.assert_allclose(shown.sines[pair], expected, atol=1e-11)


def test_the_picture_ends_at_the_number():
    axes = plot.number_waves(Sinusoidal(dim=8), 150)
    title = axes[0].figure.get_suptitle()
    assert "150 = 10010110" in title
    assert len(axes) == 8 + 4
