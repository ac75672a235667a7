"""Row 13: the same embedding at positions 0, 50 and 99; low dimensions carry position."""

import numpy as np

from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE
from posenc.inspect import position_change


def article():
    """The article's vector: seed 42, 128 numbers."""
    return np.random.RandomState(42).standard_normal(128)


def article_table() -> np.ndarray:
    """The article's table of 100 positions, in its own arithmetic."""
    position, rate = np.arange(100)[:, None], np.exp(np.arange(0, 128, 2) * -(np.log(10000.0) / 128))
    table = np.zeros((100, 128))
    table[:, 0::2], table[:, 1::2] = np.sin(position * rate), np.cos(position * rate)
    return table


def test_sinusoidal_differences_at_50_and_99_are_those_of_the_article():
    vector, table = article(), article_table()
    seen = position_change(Sinusoidal(dim=128), vector, [0, 50, 99])
    assert seen.compared.tolist() == [50, 99]
    # Its angles up to 99 come from rounded powers: 99 · 3 · 2^-53, and sums of values up to 4.
    np.testing.assert_allclose(seen.differences[0], (vector + table[50]) - (vector + table[0]), atol=1e-13)
    np.testing.assert_allclose(seen.differences[1], (vector + table[99]) - (vector + table[0]), atol=1e-13)
    assert seen.against == "position 0"


def test_low_dimensions_carry_position_in_the_sinusoidal_encoding():
    shares = position_change(Sinusoidal(dim=128), article()).shares
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-15)
    assert (shares * 100).round(1).tolist() == [[42.1, 56.2, 1.7, 0.0], [41.9, 52.9, 5.1, 0.1]]
    assert (shares[:, :2].sum(axis=1) > 0.94).all()


def test_rotary_vector_and_rotated_vector_at_0_50_99():
    vector = article()
    seen = position_change(RoPE(dim=128), vector, [0, 50, 99])
    assert seen.compared.tolist() == [0, 50, 99]
    assert np.array_equal(seen.encoded[0], vector)
    np.testing.assert_allclose(np.linalg.norm(seen.encoded, axis=1), np.linalg.norm(vector), rtol=1e-14)
    assert seen.against == "the vector itself"
    assert (seen.shares[1:] * 100).round(1).tolist() == [[41.2, 56.7, 2.1, 0.0], [48.0, 46.1, 5.9, 0.0]]
    assert seen.shares[0].tolist() == [0.0] * 4


def test_the_articles_rotary_slices_are_rotations_by_1_51_100():
    """Its code starts at position 1, so even its slice 0 rotates the vector."""
    vector = article()
    rate = 10000.0 ** (-2.0 * np.arange(64) / 128)
    expected = []
    for slice_ in (0, 50, 99):
        cosine, sine = np.cos((slice_ + 1) * rate), np.sin((slice_ + 1) * rate)
        pairs = [vector[0::2] * cosine - vector[1::2] * sine, vector[0::2] * sine + vector[1::2] * cosine]
        expected.append(np.stack(pairs, axis=-1).reshape(-1))
    seen = position_change(RoPE(dim=128), vector, [1, 51, 100])
    np.testing.assert_allclose(seen.encoded, expected, atol=2e-13)
    assert (seen.shares[0] * 100).round(1).tolist() == [98.7, 1.3, 0.0, 0.0]


def test_the_default_vector_and_places_are_the_articles():
    encoding = Sinusoidal(dim=128)
    seen = position_change(encoding)
    assert np.array_equal(seen.vector, article())
    assert seen.positions.tolist() == [0, 50, 99]
    assert any("42.1%" in line for line in seen.lines())
