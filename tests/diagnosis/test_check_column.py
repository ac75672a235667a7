"""Functions of the ladder, one number for each position, are checked, and their mistakes named."""

import numpy as np
import pytest

from posenc import Count, OneSine, Sinusoidal
from posenc.diagnosis import check_code


def by_positions(function):
    def mine(positions):
        return function(np.asarray(positions, dtype=float))

    return mine


def by_length(function):
    def mine(length):
        return function(np.arange(length, dtype=float), length)

    return mine


def by_position(function):
    def mine(position):
        return float(function(position))

    return mine


RIGHT = {
    "one sine": (by_positions(np.sin), "OneSine()"),
    "one sine in a column": (by_positions(lambda p: np.sin(p)[:, None]), "OneSine()"),
    "one sine, one by one": (by_position(np.sin), "OneSine()"),
    "one sine of words from 1": (by_length(lambda p, n: np.sin(p + 1)), "OneSine() with positions from 1"),
    "a count": (by_length(lambda p, n: p + 1), "Count()"),
    "a count from 0": (by_length(lambda p, n: p), "Count(start=0)"),
    "a count by the length": (by_length(lambda p, n: (p + 1) / n), "NormalisedCount(length=8194)"),
}
WRONG = {
    "cosine in place of sine": by_positions(np.cos),
    "degrees in place of radians": by_positions(lambda p: np.sin(np.radians(p))),
    "divided by the length less 1": by_length(lambda p, n: p / (n - 1)),
    "no known column": by_length(lambda p, n: np.random.default_rng(0).normal(size=n)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_ideas_of_the_ladder_are_known(name):
    code, convention = RIGHT[name]
    report = check_code(code)
    assert (report.right, report.convention, report.findings) == (True, convention, ())


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_named_with_the_first_number_that_differs(name):
    report = check_code(WRONG[name])
    assert (report.right, [finding.name for finding in report.findings]) == (False, [name])
    assert report.first_difference is not None
    assert report.largest_difference > 1e-5


def test_the_column_that_is_meant():
    assert check_code(by_positions(np.sin), against=OneSine()).right
    late = check_code(by_positions(lambda p: np.sin(p + 1)), against=OneSine())
    assert [finding.sentence for finding in late.findings] == ["Positions start at 1."]
    assert late.first_difference.position == 0
    assert not check_code(by_positions(np.sin), against=Count()).right
    with pytest.raises(ValueError, match="returned shape"):
        check_code(lambda length, dim: np.zeros(length))
    with pytest.raises(ValueError, match="against must have one channel"):
        check_code(by_positions(np.sin), against=Sinusoidal(dim=16))
