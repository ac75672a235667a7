"""The oracles of what is added to coordinates and time steps, pinned to published numbers or to ones worked out by
hand."""

from __future__ import annotations

import math

import mpmath

from oracles import (
    axial_learned,
    factorised_learned,
    fourier_features,
    grid_learned,
    grid_sinusoidal,
    random_fourier_features,
    time2vec,
    timestep_embedding,
)
from oracles.fields import Fields


def printed(values: list, digits: int = 4) -> list[float]:
    return [round(float(value), digits) for value in values]


def bands(count: int, **fields: object) -> Fields:
    return Fields(**{"bands": count, "spacing": "octaves", "layout": "interleaved", "coordinate": False} | fields)


def test_fourier_features_in_octaves() -> None:
    # Eq. 4 at p = 1/4 by hand: sin π/4, cos π/4, sin π/2, cos π/2, sin π, cos π.
    half = round(0.5**0.5, 4)
    assert printed(fourier_features.row(bands(3), 0.25)) == [half, half, 1.0, 0.0, 0.0, -1.0]
    assert printed(fourier_features.row(bands(2, layout="concatenated", coordinate=True), 0.25)) == [
        0.25, half, 1.0, half, 0.0,
    ]  # fmt: skip


def test_fourier_features_up_to_a_resolution() -> None:
    # The Perceiver's 64 bands for 224 samples: 1 … 112 in equal steps of 111/63; and 1, 4, 16 by one factor up to 32/2.
    linear = bands(64, spacing="linear", resolution=224.0)
    assert printed([fourier_features.multiple(linear, band) for band in (0, 1, 63)]) == [1.0, 2.7619, 112.0]
    steps = bands(3, spacing="logarithmic", resolution=32.0)
    assert printed([fourier_features.multiple(steps, band) for band in range(3)]) == [1.0, 4.0, 16.0]


def test_random_words_are_those_of_the_published_generator() -> None:
    # The first words of NumPy's PCG64(0), whose stream is promised not to change; random() is the word over 2^11 times
    # 2^-53.
    assert random_fourier_features.stream(0, 3) == [11749869230777074271, 4976686463289251617, 755828109848996024]
    assert random_fourier_features.stream(0, 1)[0] >> 11 == round(0.6369616873214543 * 2**53)


def test_random_fourier_features() -> None:
    one, two = ((word >> 11) / 2**53 for word in random_fourier_features.stream(0, 2))
    by_hand = math.sqrt(-2 * math.log(one)) * math.cos(2 * math.pi * two)
    encoding = Fields(features=1, std=1.0, seed=0, first="cosine")
    assert abs(float(random_fourier_features.draws(encoding)[0]) - by_hand) < 2**-24
    # At p = 1/(4·std·b) the rotation is a quarter: cosine 0, sine 1.
    with mpmath.workprec(300):
        place = 1 / (4 * random_fourier_features.draws(encoding)[0])
    assert printed(random_fourier_features.row(encoding, place)) == [0.0, 1.0]
    encoding.std, encoding.first = 2.0, "sine"
    assert printed(random_fourier_features.row(encoding, place / 2)) == [1.0, 0.0]


def test_timestep_embedding() -> None:
    # With shift 1 and four channels the frequencies are 1 and 1/10000; with shift 0 they are 1 and 1/100.
    fields = {"scale": 1.0, "max_period": 10_000.0}
    one = Fields(dim=4, shift=1.0, flip=False, **fields)
    assert printed(timestep_embedding.row(one, 3)) == [0.1411, 0.0003, -0.99, 1.0]
    zero = Fields(dim=5, shift=0.0, flip=True, **fields)
    assert printed(timestep_embedding.row(zero, 3)) == [-0.99, 0.9996, 0.1411, 0.03, 0.0]
    zero.scale = 1_000.0
    assert printed(timestep_embedding.row(zero, 0.003)) == [-0.99, 0.9996, 0.1411, 0.03, 0.0]


def test_time2vec() -> None:
    # By hand: 2·3 + 1 = 7; sin 3 and sin(1·3 - 1) = sin 2.
    params = {"omega": [2.0, 1.0, 1.0], "phi": [1.0, 0.0, -1.0]}
    assert printed(time2vec.row(Fields(dim=3), 3, params)) == [7.0, 0.1411, 0.9093]


def test_axial_learned() -> None:
    # 17 in a grid of 3 × 7 is row 2, column 3; in 2 × 3 × 5 it is 1, 0, 2.
    tables = {"table_0": [[0], [1], [2]], "table_1": [[10 + column, 20 + column] for column in range(7)]}
    assert axial_learned.row(Fields(shape=(3, 7)), 17, tables) == [2, 13, 23]
    digits = {f"table_{axis}": [[digit] for digit in range(size)] for axis, size in enumerate((2, 3, 5))}
    assert axial_learned.row(Fields(shape=(2, 3, 5)), 17, digits) == [1, 0, 2]


def test_grid_sinusoidal() -> None:
    # By hand at row 1, column 2: frequencies 1 and 1/100 of a slice of four channels.
    fields = {"base": 10_000.0, "frequency_dim": None}
    down = [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]
    across = [math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)]
    detr = Fields(dims=(4, 4), order=(0, 1), layout="interleaved", first="sine", **fields)
    assert printed(grid_sinusoidal.row(detr, (1, 2)), 12) == printed([*down, *across], 12)
    mae = Fields(dims=(4, 4), order=(1, 0), layout="concatenated", first="sine", **fields)
    by_hand = [across[0], across[2], across[1], across[3], down[0], down[2], down[1], down[3]]
    assert printed(grid_sinusoidal.row(mae, (1, 2)), 12) == printed(by_hand, 12)
    gathered = Fields(dims=(4, 2), order=(0, 1), layout="gathered", first="cosine", base=10_000.0, frequency_dim=4)
    by_hand = [down[1], down[3], across[1], down[0], down[2], across[0]]
    assert printed(grid_sinusoidal.row(gathered, (1, 2)), 12) == printed(by_hand, 12)


def test_grid_learned() -> None:
    # Two rows of three patches behind a class token: patch (1, 2) is the sixth patch and the seventh vector.
    encoding = Fields(sizes=(2, 3), prefix=1)
    params = {"table": [[float(number)] for number in range(7)]}
    assert [grid_learned.row(encoding, place, params)[0] for place in ((-1, 0), (0, 0), (0, 2), (1, 2))] == [0, 1, 3, 6]


def test_factorised_learned() -> None:
    params = {"table_0": [[1.0, 2.0], [3.0, 4.0]], "table_1": [[10.0, -20.0], [30.0, -4.0]]}
    assert factorised_learned.row(Fields(combine="summed"), (1, 1), params) == [33.0, 0.0]
    assert factorised_learned.magnitude(Fields(combine="summed"), (1, 1), params) == [33.0, 8.0]
    assert factorised_learned.row(Fields(combine="concatenated"), (0, 1), params) == [1.0, 2.0, 30.0, -4.0]
