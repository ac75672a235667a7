"""Frequencies in 2^-128 revolutions, as kernels take them, against mpmath."""

import mpmath
import numpy as np

from posenc.frequencies import Geometric
from posenc.phase import FixedFrequencies, frequency_words


def test_words_hold_each_frequency_for_the_coordinate_that_its_pair_reads():
    axis = (0, 1, 2, 1, 0)
    words = frequency_words(FixedFrequencies(Geometric(dim=10, base=10_000.0), axis, "halves"))
    assert words.shape == (2, 3, 5)
    upper, lower = (part.view(np.uint64).astype(object) for part in words)
    with mpmath.workprec(256):
        for pair, of_pair in enumerate(axis):
            revolutions = mpmath.power(10_000, mpmath.mpf(-2 * pair) / 10) / (2 * mpmath.pi)
            nearest = int(mpmath.nint(revolutions * mpmath.mpf(2) ** 128))
            for coordinate in range(3):
                word = (int(upper[coordinate, pair]) << 64) + int(lower[coordinate, pair])
                assert word == (nearest if coordinate == of_pair else 0)
