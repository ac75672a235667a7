"""Row 24: "attend k tokens back" is one linear map of the encoding; M is derived from the addition theorems."""

import math

import numpy as np
import pytest

from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.inspect import look_back, shift_derivation, shift_matrix


@pytest.mark.parametrize("offset", [0, 1, 3, 17, 63])
@pytest.mark.parametrize("encoding", [Sinusoidal(dim=64), Sinusoidal(dim=128, layout="concatenated")])
def test_every_query_looks_exactly_k_back(encoding, offset):
    head = look_back(encoding, offset, 64)
    assert (head.hits, head.misses) == (64 - offset, 0)
    assert head.target[offset:].tolist() == list(range(64 - offset))
    assert head.margin > 0.1


def test_the_scores_are_sums_of_cosines_of_the_distance_from_the_target():
    """By hand: row t and column s hold the sum over pairs of cos(ω·(t - k - s))."""
    head = look_back(Sinusoidal(dim=8), 2, 6)
    for t in range(6):
        for s in range(6):
            expected = sum(math.cos((t - 2 - s) / 10_000 ** (2 * i / 8)) for i in range(4))
            assert math.isclose(head.scores[t, s], expected, abs_tol=1e-13)


def test_too_few_frequencies_miss():
    """The check can fail: one pair comes back after 44 tokens (7 revolutions less 0.018): then any of them may win."""
    head = look_back(Sinusoidal(dim=2), 1, 400)
    assert head.margin < 1e-4


def test_the_derivation_ends_in_the_matrix():
    encoding, offset, position = Sinusoidal(dim=8), 3, 5
    whole = shift_matrix(encoding, offset)
    for pair in range(4):
        derived = shift_derivation(encoding, offset, position=position, pair=pair)
        np.testing.assert_array_equal(derived.matrix, whole[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2])
        np.testing.assert_allclose(derived.matrix @ derived.before, derived.after, atol=1e-15)
        np.testing.assert_array_equal(derived.before, encoding.embed([5])[0, 2 * pair : 2 * pair + 2])
        np.testing.assert_array_equal(derived.after, encoding.embed([8])[0, 2 * pair : 2 * pair + 2])


def test_every_step_is_true_with_its_numbers():
    """Each equation of the printed steps holds to the digits it shows."""
    steps = shift_derivation(Sinusoidal(dim=4), 2, position=5).steps
    assert [step.action.split(".")[0] for step in steps][1:3] == [
        "Addition theorem of the sine",
        "Addition theorem of the cosine",
    ]
    assert steps[1].numbers == "0.657 = -0.9589·(-0.4161) + 0.2837·0.9093"
    assert math.isclose(math.sin(7), -0.9589 * -0.4161 + 0.2837 * 0.9093, abs_tol=2e-4)
    assert steps[2].numbers == "0.7539 = 0.2837·(-0.4161) - (-0.9589)·0.9093"
    assert steps[4].numbers == "0.1732 + 0.8268 = 1"
