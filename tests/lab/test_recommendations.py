"""What is recommended, in a sentence that states its confidence."""

import pytest

from posenc.lab.comparison.measures import Measure
from posenc.lab.comparison.recommendation import Recommendation


@pytest.mark.parametrize(
    ("rivals", "worse", "enough", "says"),
    [
        ((), ("b",), False, "no recommendation. a has the best mean, but a verdict needs 5 seeds of each"),
        ((), ("b",), True, "take a. It is the better one (95 % confidence, corrected by Holm)."),
        ((), ("b", "c"), True, "take a. It is better than each of the other 2 (95 % confidence"),
        (("b",), (), True, "undecided between a and b. a has the best mean, but these runs do not show"),
        (("b",), ("c", "d"), True, "not show that it is better. a is better than c, d (95 % confidence)."),
    ],
)
def test_a_recommendation_states_its_confidence(rivals, worse, enough, says):
    assert says in Recommendation(Measure("accuracy", 40), "a", rivals, worse, enough).sentence()
