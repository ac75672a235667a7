"""The largest numbers that frequencies take, each accepted and the next refused; and what the messages advise."""

import math

import numpy as np
import pytest

from posenc.frequencies import Clipped, Divisors, Geometric, Joined, Linear, Projected, Rescaled
from posenc.phase.matrix_exponential import exponential


def above(number):
    return math.nextafter(number, math.inf)


@pytest.mark.parametrize(
    ("make", "largest"),
    [
        (lambda x: Divisors((1.0, x)), 1e12),
        (lambda x: Projected((0.5, x)), 1e6),
        (lambda x: Projected((0.5, -x)), 1e6),
        (lambda x: Linear(factor=x), 1e6),
    ],
    ids=["divisor", "projection", "negative projection", "stretch"],
)
def test_the_largest_number_is_taken_and_the_next_refused(make, largest):
    make(largest)
    with pytest.raises(ValueError, match=r"must"):
        make(above(largest))


def test_divisors_are_one_two_and_three_by_default():
    assert Divisors().radians().tolist() == [1.0, 1 / 2, 1 / 3]


def test_one_clipped_pair_does_not_rotate_so_that_another_must():
    """A soft clip slows several pairs by degrees and stops none but the last; of one it is that one."""
    with pytest.raises(ValueError, match=r"^count must leave at least one of 1 pairs .* at most 0 here; got 1\."):
        Rescaled(Geometric(dim=2), Clipped(count=1))
    Rescaled(Geometric(dim=4), Clipped(count=1))
    Rescaled(Geometric(dim=4), Clipped(count=2))
    with pytest.raises(ValueError, match=r"at most 1 here; got 2"):
        Rescaled(Geometric(dim=4), Clipped(count=2, soft=False))


def test_messages_end_with_what_to_do():
    with pytest.raises(TypeError, match=r"Give \(Geometric\(dim=4\),\), say\.$"):
        Joined(())
    with pytest.raises(ValueError, match=r" with these generators\. Scale positions down, to \[0, 1\] say\.$"):
        exponential(np.full((2, 2), 2.0**16))
