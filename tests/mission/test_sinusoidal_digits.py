"""Row 3: the sinusoidal encoding, to the printed digits."""

import math

import numpy as np
import pytest

from posenc.encodings.adds.sinusoidal import Sinusoidal


def printed(row, places):
    """A row of numbers as a source prints it; a minus before zero is not printed."""
    return [f"{value:.{places}f}".replace("-0.0000", "0.0000") for value in row]


@pytest.mark.parametrize(
    ("position", "places", "values"),
    [
        (0, 0, ["0", "1", "0", "1"]),
        (1, 4, ["0.8415", "0.5403", "0.0100", "1.0000"]),
        (3, 4, ["0.1411", "-0.9900", "0.0300", "0.9996"]),
    ],
)
def test_four_dimensions(position, places, values):
    assert printed(Sinusoidal(dim=4).embed([position])[0], places) == values


def test_four_dimensions_to_the_fifth_digit():
    one, three = Sinusoidal(dim=4).embed([1, 3])
    assert (f"{one[3]:.5f}", f"{three[1]:.5f}", f"{three[3]:.5f}") == ("0.99995", "-0.98999", "0.99955")


def test_eight_dimensions_at_position_three():
    values = ["0.1411", "-0.9900", "0.2955", "0.9553", "0.0300", "0.9996", "0.0030", "1.0000"]
    assert printed(Sinusoidal(dim=8).embed([3])[0], 4) == values


def test_six_dimensions_at_position_one():
    """ "bank" of the notes, which print 0.94, 0.04 and twice 0.99 in it."""
    values = ["0.8415", "0.5403", "0.0464", "0.9989", "0.0022", "1.0000"]
    assert printed(Sinusoidal(dim=6).embed([1])[0], 4) == values


@pytest.mark.parametrize(
    ("position", "values"),
    [
        (0, "0.00 1.00 0.00 1.00 0.00 1.00 0.00 1.00 0.00 1.00 0.00 1.00 0.00 1.00 0.00 1.00"),
        (1, "0.84 0.54 0.53 0.85 0.31 0.95 0.18 0.98 0.10 1.00 0.06 1.00 0.03 1.00 0.02 1.00"),
        (2, "0.91 -0.42 0.90 0.43 0.59 0.81 0.35 0.94 0.20 0.98 0.11 0.99 0.06 1.00 0.04 1.00"),
    ],
)
def test_the_chapters_sixteen_dimensions_with_base_100(position, values):
    """Dimension 3 of k=2 is 0.43, where the chapter prints 0.41."""
    assert printed(Sinusoidal(dim=16, base=100.0).embed([position])[0], 2) == values.split()


def test_any_base_counted_from_zero_or_one_on_the_fly():
    encoding = Sinusoidal(dim=6, base=37.5)
    counted = Sinusoidal(dim=6, base=37.5, start=1)
    position = 123_456_789
    alone, together = encoding.embed([position])[0], encoding.embed([5, position, 0])[1]
    assert np.array_equal(alone, together)  # a row needs no table before it
    assert np.array_equal(counted.embed([position - 1])[0], alone)
    # float64 angles of 1e8 radians carry an error of 1e8 · 2^-53 = 1e-8.
    assert alone[0] == pytest.approx(math.sin(position), abs=1e-8)
    assert alone[3] == pytest.approx(math.cos(position / 37.5 ** (2 / 6)), abs=1e-7)
