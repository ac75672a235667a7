"""Spectra, shifts, rotations, closest rows, rounding, terms and dials: right values, and errors that name the
argument."""

import math

import numpy as np
import pytest
import torch

from posenc.compose import Concatenated, LearnedScale, Partial, Scaled, Sum
from posenc.encodings.adds.count import Count
from posenc.encodings.adds.divisor_pairs import DivisorPairs
from posenc.encodings.adds.fourier_features import FourierFeatures
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.nope import NoPE
from posenc.encodings.adds.one_sine import OneSine
from posenc.encodings.adds.random_fourier_features import RandomFourierFeatures
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.rotates.pope import PoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.inspect import (
    binary_counting,
    derivative,
    dials,
    input_sum,
    position_change,
    position_table,
    properties,
    rotation_error,
    rotation_matrices,
    score_by_distance,
    shift_error,
    shift_matrix,
    similarity,
    spectrum,
)
from posenc.inspect.properties import closest
from posenc.inspect.rounding import to_bfloat16
from posenc.inspect.sinusoid_channels import sinusoid_channels
from posenc.learn import ladder_figures, score_terms
from posenc.learn.worked_examples.added_score import added_score

CONVENTIONS = (
    Sinusoidal(dim=8),
    Sinusoidal(dim=16, base=100.0, start=1, scale=0.5),
    Sinusoidal(dim=12, layout="concatenated", exponent="i/(d/2-1)"),
    Sinusoidal(dim=10, exponent="i/d", first="cosine"),
    Sinusoidal(dim=7, odd="truncate"),
    Sinusoidal(dim=7, odd="truncate", layout="concatenated", first="cosine"),
    Sinusoidal(dim=9, odd="zero", layout="concatenated"),
    Sinusoidal(dim=9, odd="truncate", exponent="i/(d/2-1)"),
    DivisorPairs(divisors=(2.0, 5.0)),
    OneSine(),
    NoPE(dim=3),
    Scaled(Sinusoidal(dim=6), -0.5),
)


@pytest.mark.parametrize("encoding", CONVENTIONS)
def test_waves_say_which_channel_holds_which_wave(encoding):
    made, row = sinusoid_channels(encoding), encoding.embed([11])[0]
    for dimension in range(encoding.width):
        kind, pair = made.channel(dimension)
        angle = 0.0 if made.frequencies is None or pair < 0 else (11 + made.start) * made.frequencies.radians()[pair]
        value = {"sine": math.sin(angle), "cosine": math.cos(angle), "zero": 0.0}[kind]
        assert row[dimension] == pytest.approx(made.factor * value, abs=1e-14)


def test_what_is_no_wave_is_said_to_be_none():
    assert sinusoid_channels(Learned(dim=2, length=3)) is None
    with pytest.raises(TypeError, match="encoding must be made of sines and cosines; got Learned"):
        derivative(Learned(dim=2, length=3), 1)
    with pytest.raises(TypeError, match="encoding must be an encoding"):
        sinusoid_channels(3)
    with pytest.raises(ValueError, match="dimension must be an integer from 0 to 7; got 8"):
        sinusoid_channels(Sinusoidal(dim=8)).channel(8)


@pytest.mark.parametrize("encoding", CONVENTIONS)
def test_the_derivative_is_the_limit_of_differences(encoding):
    step = 2.0**-17
    there = (encoding.embed([20.5 + step]) - encoding.embed([20.5 - step])) / (2 * step)
    # The third derivative is at most 1: step²/6 = 1e-11; rounding 2^-53/step = 1.5e-11.
    np.testing.assert_allclose(derivative(encoding, 20.5), there[0], atol=4e-11)


def test_the_derivative_lives_beside_its_positions():
    ours = derivative(Sinusoidal(dim=6), torch.tensor([[1, 2], [3, 4]]))
    assert isinstance(ours, torch.Tensor)
    assert (ours.dtype, tuple(ours.shape)) == (torch.float32, (2, 2, 6))
    expected = derivative(Sinusoidal(dim=6), np.array([[1, 2], [3, 4]]))
    np.testing.assert_allclose(ours.numpy(), expected, atol=2.0**-23)


def test_the_spectrum_of_members_at_other_doors():
    assert spectrum(RoPE(dim=8)).ratio == pytest.approx(10.0, rel=1e-15)
    assert spectrum(Partial(RoPE(dim=4), dim=8)).wavelengths.tolist() == spectrum(RoPE(dim=4)).wavelengths.tolist()
    figures = spectrum(DivisorPairs())
    assert math.isnan(figures.ratio)
    assert np.isnan(figures.exponents).all()
    assert "The wavelengths are no geometric progression." in figures.lines()
    assert "One pair alone: no progression." in str(spectrum(OneSine()))
    with pytest.raises(TypeError, match="encoding must have frequencies; got ALiBi"):
        spectrum(ALiBi(heads=2))


def test_a_shift_is_refused_where_it_is_not_linear():
    for encoding in (OneSine(), Sinusoidal(dim=7, odd="truncate")):
        with pytest.raises(ValueError, match="encoding must hold a cosine for every sine"):
            shift_matrix(encoding, 1)
    with pytest.raises(TypeError, match="encoding must be made of sines and cosines; got Count"):
        shift_error(Count(), [0], [1])
    with pytest.raises(ValueError, match="offset must need at most"):
        shift_matrix(Sinusoidal(dim=1024), np.arange(1025))
    with pytest.raises(ValueError, match="positions and offsets must need at most"):
        shift_error(Sinusoidal(dim=64), np.arange(2**13), np.arange(2**13))
    assert np.array_equal(shift_matrix(NoPE(dim=3), [1, 2]), np.stack([np.eye(3)] * 2))


def test_a_broken_encoding_shows_in_the_shift_error():
    """float32 frequencies are not those of the matrix: what the check sees is their rounding, times the position."""
    error = shift_error(Sinusoidal(dim=8, numerics="float32"), [100_000], [100_000])
    assert 1e-5 < error.largest < 0.1


def test_rotations_are_refused_where_nothing_rotates():
    for measure in (rotation_matrices, rotation_error):
        with pytest.raises(TypeError, match="encoding must be an encoding that rotates"):
            measure(Sinusoidal(dim=4), [0])
    with pytest.raises(ValueError, match="positions must need at most"):
        rotation_matrices(RoPE(dim=1024), np.arange(1025))
    with pytest.raises(TypeError, match="shift must be an integer"):
        rotation_error(RoPE(dim=4), [0], shift=0.5)


def test_a_wrong_efficient_form_shows_in_the_rotation_error(monkeypatch):
    from posenc.core.rotation import Rotation

    right = Rotation.__call__
    monkeypatch.setattr(Rotation, "__call__", lambda self, x, **options: right(self.inverse(), x, **options))
    assert rotation_error(RoPE(dim=8), range(10)).efficient > 0.1


@pytest.mark.parametrize("shape", [(2, 1), (300, 3), (700, 1), (260, 40)])
def test_closest_is_that_of_all_differences(shape):
    rows = np.random.default_rng(0).standard_normal(shape)
    every = np.linalg.norm(rows[:, None] - rows[None], axis=-1)
    every[np.tril_indices(len(rows))] = np.inf
    nearest = closest(rows)
    assert nearest.distance == every.min()
    assert nearest.pair == np.unravel_index(every.argmin(), every.shape)
    assert nearest.ties == 1


def test_closest_sees_distances_that_products_cannot():
    """1e-12 apart at values of 1e3: squares of 1e6 carry an error of 1e-10, a million million times the squared
    distance."""
    rows = np.arange(600.0)[:, None] * 10 + np.zeros(2)
    rows[417] = rows[30] + [0, 1.5e-12]
    nearest = closest(rows)
    assert nearest.pair == (30, 417)
    assert 0 < nearest.distance < 2e-12


def test_closest_counts_ties():
    nearest = closest(np.arange(10.0)[:, None])
    assert (nearest.pair, nearest.distance, nearest.ties, nearest.spacing) == ((0, 1), 1.0, 9, 1)
    same = closest(np.zeros((300, 2)))
    assert (same.pair, same.distance, same.ties, same.spacing) == ((0, 1), 0.0, 300 * 299 // 2, 0)


def test_bfloat16_is_that_of_torch():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 100_000, dtype=np.uint64).astype(np.uint32)
    halves = (np.arange(1000, dtype=np.uint32) << np.uint32(16)) | np.uint32(0x3F808000)  # exactly between two
    values = np.concatenate([bits, halves]).view(np.float32)
    ours, theirs = to_bfloat16(values), torch.from_numpy(values).to(torch.bfloat16).to(torch.float32).numpy()
    finite = np.isfinite(values)
    assert np.array_equal(ours[finite], theirs[finite])
    assert np.array_equal(np.isnan(ours), np.isnan(values))


def test_properties_of_what_repeats_and_of_what_is_learned():
    assert properties(NoPE(dim=3), 50).distinct == 1
    encoding = Learned(dim=4, length=30)
    assert properties(encoding, 30, seed=1).distance != properties(encoding, 30).distance
    assert properties(encoding, 30, params={"table": np.zeros((30, 4))}).distinct == 1
    assert (
        "first of 3" in properties(Learned(dim=1, length=4), 4, params={"table": np.array([[0.0], [0], [0], [5]])}).pair
    )
    with pytest.raises(TypeError, match="encoding must be an encoding that adds"):
        properties(RoPE(dim=4))
    with pytest.raises(ValueError, match="count must be an integer from 2"):
        properties(Sinusoidal(dim=4), 1)
    with pytest.raises(ValueError, match="dtype must be one of 'float64', 'float32', 'bfloat16'; got 'float16'"):
        properties(Sinusoidal(dim=4), dtype="float16")
    with pytest.raises(ValueError, match="positions must be from 0 to 29"):
        properties(encoding, 31)


def test_ladder_figures_of_other_members():
    assert ladder_figures(Sinusoidal(dim=64)).linear
    assert not ladder_figures(Sinusoidal(dim=7, odd="truncate")).linear
    learned = ladder_figures(Learned(dim=4, length=1001))
    assert (learned.bounded, learned.continuous, learned.same_value, learned.linear) == (True, False, True, False)
    with pytest.raises(TypeError, match="encoding must be an encoding that adds"):
        ladder_figures(ALiBi(heads=2))
    with pytest.raises(ValueError, match="count must be an integer from 16"):
        ladder_figures(OneSine(), 3)


def test_score_terms_are_refused_where_they_do_not_fit():
    good = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"position_key must have shape \(\.\.\., tokens, 3\).*got \(2, 4\)"):
        score_terms(good, good, good, np.ones((2, 4)))
    with pytest.raises(ValueError, match="content_query must have shape"):
        score_terms(np.ones(3), good, good, good)
    with pytest.raises(ValueError, match="scale must be a finite number above 0"):
        score_terms(good, good, good, good, scale=0.0)
    assert score_terms(good[:1], good[:1], good[:1], good[:1], scale=1.0).lines()[0].split() == [
        "content",
        "·",
        "content",
        "3",
    ]


def test_binary_counting_and_dials_are_refused_where_they_do_not_fit():
    with pytest.raises(ValueError, match="count must be at most 16 for 4 bits; got 17"):
        binary_counting(17, 4)
    with pytest.raises(ValueError, match="bits must be an integer from 1 to 30"):
        binary_counting(1, 0)
    with pytest.raises(TypeError, match="encoding must be an encoding that adds"):
        binary_counting(2, 1, RoPE(dim=4))
    with pytest.raises(TypeError, match="encoding must have frequencies; got Learned"):
        binary_counting(2, 1, Learned(dim=4, length=9))
    with pytest.raises(ValueError, match="encoding must be an encoding with one axis; got RandomFourierFeatures"):
        binary_counting(2, 1, RandomFourierFeatures(features=2, axes=2))
    scaled = LearnedScale(Sinusoidal(dim=4), initial=0.5)
    assert binary_counting(2, 1, scaled).rows.tolist() == (Sinusoidal(dim=4).embed([0, 1]) / 2).tolist()
    with pytest.raises(TypeError, match="position must be an integer"):
        dials(Sinusoidal(dim=4), 1.5)
    with pytest.raises(TypeError, match="encoding must have frequencies"):
        dials(ALiBi(heads=2), 1)


def test_the_analogy_with_bits_knows_pairs_in_any_order():
    """FourierFeatures(bands=3) has the wavelengths 2, 1 and 0.5: the slowest first."""
    fastest, growth = binary_counting(8, 3, FourierFeatures(bands=3)).corrections()[1:3]
    assert "fastest pair has period 0.500, not 2" in fastest
    assert "each period is 0.5 times the one before, between 0.5 and 2.0." in growth
    assert "coarse in the first pairs and fine in the last" in str(spectrum(FourierFeatures(bands=3)))
    assert "its cosine flips with every number" in binary_counting(8, 3, FourierFeatures(bands=1)).corrections()[1]
    drawn = RandomFourierFeatures(features=2)  # its first frequency is negative
    lengths = sorted(2 * math.pi / abs(frequency) for frequency in drawn.frequencies.radians())
    fastest, growth = binary_counting(8, 3, drawn).corrections()[1:3]
    assert f"fastest pair has period {lengths[0]:.3f}" in fastest
    assert f"between {lengths[0]:.1f} and {lengths[1]:.1f}." in growth
    assert "one pair alone" in binary_counting(2, 1, Sinusoidal(dim=2)).corrections()[2]


def test_an_appended_encoding_is_not_added():
    """`attach` widens the embedding by it; a sum with it is the input of no layer."""
    appended = Concatenated(Count())
    for measure in (
        lambda: input_sum("Dog bites man", appended),
        lambda: added_score(appended, [1.0], [2.0], position=1, key=0),
        lambda: position_change(appended),
    ):
        with pytest.raises(TypeError, match=r"^encoding must be added to the embedding; got Concatenated"):
            measure()
    assert position_table(appended, [3]).rows.tolist() == [[4.0]]


def test_dials_far_away_and_counted_from_one():
    """10^15 radians, whose turns plain float64 cannot tell, from the exact phase."""
    far = dials(Sinusoidal(dim=2), 10**15)
    row = Sinusoidal(dim=2).embed([10**15])[0]
    np.testing.assert_allclose([far.y[0], far.x[0]], row, atol=1e-14)
    assert (
        dials(Sinusoidal(dim=8, start=1), 149).revolutions.tolist()
        == dials(Sinusoidal(dim=8), 150).revolutions.tolist()
    )
    back = dials(Partial(RoPE(dim=4), dim=8, start=3), -1)
    assert back.completed.tolist() == [-1, -1]
    assert back.revolutions[0] == pytest.approx(1 - 1 / (2 * math.pi), abs=1e-15)


def test_similarity_is_the_product_of_every_two_rows():
    encoding, places = Sinusoidal(dim=8), [0, 3, 1000]
    expected = [[sum(math.cos((m - n) / 10**i) for i in range(4)) for n in places] for m in places]
    np.testing.assert_allclose(similarity(encoding, places), expected, atol=1e-12)
    with pytest.raises(TypeError, match="encoding must be an encoding that adds"):
        similarity(RoPE(dim=4), places)
    with pytest.raises(ValueError, match="positions must be a list of numbers"):
        similarity(encoding, [[0]])
    with pytest.raises(ValueError, match="positions must need at most"):
        similarity(encoding, np.arange(40_000))


def test_scores_by_distance_at_every_door():
    distances = [0, 1, 5]
    waves_ = [sum(math.cos(distance / 10**i) for i in range(4)) for distance in distances]
    for key in (0, 77):
        adds = score_by_distance(Sinusoidal(dim=8), distances, key_position=key)
        rotates = score_by_distance(RoPE(dim=8), distances, key_position=key)
        np.testing.assert_allclose(adds.scores, [waves_], atol=1e-13)
        np.testing.assert_allclose(rotates.scores, [[2 * one / math.sqrt(8) for one in waves_]], atol=1e-13)
        assert score_by_distance(ALiBi(heads=2), distances, key_position=key).scores.tolist() == [
            [-d / 16 for d in distances],
            [-d / 256 for d in distances],
        ]
    assert "the bias of each head" in str(score_by_distance(ALiBi(heads=2), distances))
    with pytest.raises(ValueError, match="distances must be a list of numbers"):
        score_by_distance(RoPE(dim=8), 3)
    with pytest.raises(TypeError, match="encoding must be an encoding"):
        score_by_distance(None, distances)


def test_a_position_change_is_refused_where_it_does_not_fit():
    with pytest.raises(TypeError, match="encoding must be one that adds or rotates; got ALiBi"):
        position_change(ALiBi(heads=2))
    with pytest.raises(TypeError, match="encoding must rotate every head alike and keep its width; got PoPE"):
        position_change(PoPE(dim=4, heads=2))
    with pytest.raises(ValueError, match=r"vector must have shape \(8,\); got \(3,\)"):
        position_change(RoPE(dim=8), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="positions must be a list of two or more"):
        position_change(RoPE(dim=8), positions=[3])


def test_a_position_change_of_something_learned():
    encoding = Sum((Sinusoidal(dim=8), Learned(dim=8, length=100)))
    seen = position_change(encoding, positions=[1, 2])
    rows = encoding.embed([1, 2], encoding.init(np.random.default_rng(0)))
    np.testing.assert_allclose(seen.differences[0], rows[1] - rows[0], atol=1e-15)
