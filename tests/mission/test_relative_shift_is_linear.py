"""Row 7: a shift of position is a matrix that does not depend on the position, and a rotation."""

import math

import numpy as np
import pytest

from posenc.encodings.adds.divisor_pairs import DivisorPairs
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.inspect import shift_error, shift_matrix

RECORDS = (
    Sinusoidal(dim=128),
    Sinusoidal(dim=16, base=100.0, start=1, scale=0.5),
    Sinusoidal(dim=12, layout="concatenated", exponent="i/(d/2-1)"),
    Sinusoidal(dim=10, exponent="i/d", first="cosine"),
    Sinusoidal(dim=9, odd="zero", layout="concatenated"),
    DivisorPairs(),
)
#: Two products of numbers up to 1 and one addition, each rounded, on entries that are good to 2 units of 2^-53.
ROUNDING = 8 * 2.0**-53


@pytest.mark.parametrize("encoding", RECORDS)
def test_one_matrix_shifts_every_position_in_every_pair(encoding):
    error = shift_error(encoding, [0, 1, 50, 99, 2**40], [1, 7, 50, -3, 12345])
    assert len(error.pairs) == encoding.frequencies.pairs
    assert error.largest <= ROUNDING
    assert (error.pairs <= ROUNDING).all()


@pytest.mark.parametrize("encoding", RECORDS)
def test_the_matrix_is_a_rotation(encoding):
    matrix = shift_matrix(encoding, 7)
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(encoding.width), atol=ROUNDING)
    # A product of d/2 blocks, each with a determinant of 1 to 4 units of rounding.
    assert abs(np.linalg.det(matrix) - 1) <= 4 * encoding.width * 2.0**-53
    assert np.array_equal(shift_matrix(encoding, 0), np.eye(encoding.width))
    np.testing.assert_allclose(shift_matrix(encoding, 3) @ shift_matrix(encoding, 4), matrix, atol=ROUNDING)
    error = shift_error(encoding, [0], [7])
    assert max(error.orthogonality, error.determinant) <= 4 * encoding.width * 2.0**-53


def test_the_matrix_by_hand():
    rate = 10_000 ** (-2 / 4)
    expected = np.zeros((4, 4))
    for block, angle in ((0, 5.0), (2, 5 * rate)):
        cosine, sine = math.cos(angle), math.sin(angle)
        expected[block : block + 2, block : block + 2] = [[cosine, sine], [-sine, cosine]]
    np.testing.assert_allclose(shift_matrix(Sinusoidal(dim=4), 5), expected, atol=1e-15)


def test_another_matrix_does_not_do_it():
    """The check can fail: the matrix of one step more is off by much."""
    encoding = Sinusoidal(dim=8)
    wrong = encoding.embed([5]) @ shift_matrix(encoding, 8).T - encoding.embed([12])
    assert np.abs(wrong).max() > 0.5
