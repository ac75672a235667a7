"""Row 15: every picture of the sources, drawn from the encoding's own numbers."""

import math

import numpy as np
import pytest

from posenc import plot
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE

RECORD, ROTARY = Sinusoidal(dim=128), RoPE(dim=128)


def wave(position: int, dim: int) -> float:
    angle = position / 10_000 ** (2 * (dim // 2) / 128)
    return math.cos(angle) if dim % 2 else math.sin(angle)


def test_heat_map_of_100_positions_and_128_dimensions():
    drawn = np.asarray(plot.heatmap(RECORD, 100).images[0].get_array())
    assert drawn.shape == (100, 128)
    assert drawn[0, :4].tolist() == [0.0, 1.0, 0.0, 1.0]
    np.testing.assert_allclose(drawn, [[wave(t, dim) for dim in range(128)] for t in range(100)], atol=1e-12)


def test_curves_of_dimensions_0_and_21():
    fast, slow = plot.dimensions(RECORD, (0, 21), 100).lines
    np.testing.assert_allclose(fast.get_ydata(), [math.sin(t) for t in range(100)], atol=1e-12)
    np.testing.assert_allclose(slow.get_ydata(), [math.cos(t / 10_000 ** (20 / 128)) for t in range(100)], atol=1e-12)


def test_several_frequencies_together():
    axes = plot.waves(RECORD, (0, 8, 16, 24))
    waves = [line for line in axes.lines if str(line.get_label()).startswith("pair")]
    assert [line.get_label() for line in waves] == ["pair 0", "pair 8", "pair 16", "pair 24"]
    rotations = [int((np.diff(np.sign(line.get_ydata() + 2.5 * index)) > 0).sum()) for index, line in enumerate(waves)]
    # 100 positions hold 100 / (2π·10000^(i/64)) revolutions: 15.9, 5.0, 1.6 and 0.5. One ends where the sine rises
    # through zero; the rise from exactly zero at the start counts as one more.
    assert rotations == [16, 6, 2, 1]


def test_rotation_of_one_vector_at_several_positions():
    arrows = plot.rotation(RoPE(dim=2), (1.0, 0.5), (1, 2, 3)).collections[0]
    rotated = [complex(1.0, 0.5) * complex(math.cos(m), math.sin(m)) for m in (1, 2, 3)]
    np.testing.assert_allclose(arrows.U + 1j * arrows.V, rotated, atol=1e-12)


def test_rotated_embedding_at_0_50_and_99():
    axes = plot.rotated(ROTARY, None, (0, 50, 99))
    vector = axes[0].lines[0].get_ydata()
    shift = [np.abs(one.lines[1].get_ydata() - vector) for one in axes]
    assert shift[0].max() == 0.0
    # The last quarter of the dimensions turns by at most 99·10000^(-48/64) = 0.1 radians, a tenth of a length; the
    # first by anything.
    lengths = np.hypot(vector[0::2], vector[1::2]).repeat(2)
    for moved in shift[1:]:
        assert (moved[96:] < 0.1 * lengths[96:]).all()
        assert moved[:32].max() > 1.0


@pytest.mark.parametrize(("encoding", "unit"), [(RECORD, 64.0), (ROTARY, 128 / math.sqrt(128))])
def test_score_against_distance_falls_from_its_top(encoding, unit):
    line = plot.score_by_distance(encoding, 101).lines[-1]
    assert line.get_ydata()[0] == pytest.approx(unit, abs=1e-10)
    assert line.get_ydata()[1:].max() < unit
    assert line.get_ydata()[-20:].mean() < 0.55 * unit


def test_similarity_of_positions():
    drawn = np.asarray(plot.similarity(RECORD, 100).images[0].get_array())
    assert drawn.shape == (100, 100)
    np.testing.assert_allclose(drawn, drawn.T, atol=1e-10)
    for offset in (0, 1, 50):
        wanted = sum(math.cos(offset * 10_000 ** (-pair / 64)) for pair in range(64))
        np.testing.assert_allclose(np.diagonal(drawn, offset), wanted, atol=1e-10)
