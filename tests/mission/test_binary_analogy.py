"""Row 6: counting in bits next to the encoding, and the encoding as dials."""

import math

import numpy as np
import pytest

from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.inspect import binary_counting, dials


def test_counting_from_0_to_15():
    seen = binary_counting(16, 4)
    assert ["".join(map(str, row)) for row in seen.table] == [f"{number:04b}" for number in range(16)]
    assert np.array_equal(seen.rows, Sinusoidal(dim=8).embed(np.arange(16)))


def test_bits_flip_every_1_2_4_8_numbers():
    seen = binary_counting(16, 4)
    assert seen.flips[::-1].tolist() == [1, 2, 4, 8]
    assert seen.periods[::-1].tolist() == [2, 4, 8, 16]
    changes = np.diff(seen.table, axis=0) != 0
    for bit, flip in enumerate(seen.flips):
        assert (np.flatnonzero(changes[:, bit]) + 1).tolist() == list(range(flip, 16, flip))


def test_what_the_analogy_gets_wrong():
    seen = binary_counting(16, 4)
    assert f"{seen.wavelengths[0]:.3f}" == "6.283"
    assert any("2π = 6.283, not 2" in line for line in seen.corrections())
    signs = np.sign(seen.rows[1:, 0])
    assert (signs[1:] == signs[:-1]).any()  # dimension 0 does not flip with every number


def test_150_in_binary():
    assert binary_counting(151, 8).table[150].tolist() == [1, 0, 0, 1, 0, 1, 1, 0]
    assert "10010110" in dials(Sinusoidal(dim=8), 150).lines()[0]


def test_the_encoding_of_150_as_four_dials():
    seen = dials(Sinusoidal(dim=8), 150)
    angles = [150 / 10_000 ** (i / 4) for i in range(4)]
    assert seen.completed.tolist() == [23, 2, 0, 0]
    assert seen.revolutions == pytest.approx([angle / (2 * math.pi) % 1 for angle in angles], abs=1e-14)
    assert seen.degrees.round(1).tolist() == [314.4, 139.4, 85.9, 8.6]
    row = Sinusoidal(dim=8).embed([150])[0]
    np.testing.assert_allclose(seen.y, row[0::2], atol=1e-14)
    np.testing.assert_allclose(seen.x, row[1::2], atol=1e-14)
