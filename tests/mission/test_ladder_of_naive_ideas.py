"""Row 2: the notes' ladder of ideas, each with its five figures."""

import math

import numpy as np
import pytest

from posenc.compose import Concatenated
from posenc.encodings.adds.count import Count, NormalisedCount
from posenc.encodings.adds.divisor_pairs import DivisorPairs
from posenc.encodings.adds.one_sine import OneSine
from posenc.inspect import properties
from posenc.learn import LADDER, ladder_figures

ONE_PAIR = DivisorPairs(divisors=(1.0,))
THREE_PAIRS = DivisorPairs(divisors=(1.0, 2.0, 3.0))


def test_the_ladder_has_the_notes_five_ideas():
    assert (Count(), NormalisedCount(length=4), OneSine(), ONE_PAIR, THREE_PAIRS) == LADDER


@pytest.mark.parametrize(
    ("encoding", "bounded", "same_place", "linear"),
    [
        (Count(), False, True, False),
        (NormalisedCount(length=4), True, False, False),
        (OneSine(), True, True, False),
        (ONE_PAIR, True, True, True),
        (THREE_PAIRS, True, True, True),
    ],
)
def test_what_each_idea_lacks(encoding, bounded, same_place, linear):
    figures = ladder_figures(encoding)
    assert (figures.bounded, figures.same_value, figures.linear) == (bounded, same_place, linear)
    assert figures.continuous
    text = str(figures)
    for word in ("bounded", "continuous", "same value at any length", "closest in 0 … 1000", "relative shift linear"):
        assert word in text


def test_the_count_is_appended_to_the_embedding():
    x = np.zeros((1, 4, 3))
    widened = Concatenated(Count()).attach(x, range(4))
    assert widened[0].tolist() == [[0, 0, 0, 1], [0, 0, 0, 2], [0, 0, 0, 3], [0, 0, 0, 4]]


def test_the_normalised_count_gives_one_place_two_values():
    assert NormalisedCount(length=2).embed([1]).item() == 1.0  # "you" of "Thank you"
    assert NormalisedCount(length=4).embed([1]).item() == 0.5  # "killed" of "Rohan killed the lion"
    two, four = ladder_figures(NormalisedCount(length=4)).values
    assert (two.item(), four.item()) == (1.0, 0.5)


def test_one_sine_gives_places_11_and_344_almost_one_value():
    figures = ladder_figures(OneSine()).nearest
    assert figures.closest == (11, 344)
    assert f"{figures.distance:.1e}" == "1.3e-07"
    assert math.isclose(figures.distance, abs(math.sin(11) - math.sin(344)), rel_tol=1e-6)


def test_one_pair_takes_any_two_places_710_apart_for_nearly_the_same():
    figures = ladder_figures(ONE_PAIR).nearest
    assert (figures.spacing, figures.pair) == (710, "any two 710 apart")
    assert f"{figures.distance:.2e}" == "6.03e-05"
    assert figures.ties == 1001 - 710
    assert math.isclose(figures.distance, 2 * abs(math.sin(355)), rel_tol=1e-6)


def test_divisors_1_2_3_are_closest_at_398_and_775():
    """They are 377 apart, as are all that are as near: a distance between rows depends on the shift alone."""
    figures = ladder_figures(THREE_PAIRS).nearest
    assert figures.spacing == 775 - 398
    assert f"{figures.distance:.4f}" == "0.0104"
    first, second = THREE_PAIRS.embed([398, 775])
    assert f"{np.linalg.norm(first - second):.4f}" == "0.0104"


def test_river_bank_by_hand():
    rows = THREE_PAIRS.embed([1, 2])
    assert rows[0].tolist() == pytest.approx(
        [math.sin(1), math.cos(1), math.sin(1 / 2), math.cos(1 / 2), math.sin(1 / 3), math.cos(1 / 3)], abs=1e-15
    )
    assert rows[1].tolist() == pytest.approx(
        [math.sin(2), math.cos(2), math.sin(1), math.cos(1), math.sin(2 / 3), math.cos(2 / 3)], abs=1e-15
    )


@pytest.mark.parametrize(
    ("position", "sine", "cosine"),
    [(1, "0.8415", "0.5403"), (2, "0.9093", "-0.4161"), (3, "0.1411", "-0.9900"), (4, "-0.7568", "-0.6536")],
)
def test_the_notes_sines_and_cosines_corrected(position, sine, cosine):
    assert f"{OneSine().embed([position]).item():.4f}" == sine
    assert [f"{value:.4f}" for value in ONE_PAIR.embed([position])[0]] == [sine, cosine]


@pytest.mark.parametrize("encoding", LADDER)
def test_the_closest_pair_is_that_of_all_differences(encoding):
    """Against every difference of every two of 200 rows, taken one by one."""
    rows = encoding.embed(np.arange(200))
    every = np.linalg.norm(rows[:, None] - rows[None], axis=-1)
    every[np.diag_indices(200)] = np.inf
    assert properties(encoding, 200).distance == pytest.approx(every.min(), rel=1e-9)
