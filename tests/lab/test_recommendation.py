"""What `posenc compare` tells a researcher to take."""

import pytest

from posenc.lab.comparison.judge import recommend
from posenc.lab.comparison.setting import Measure, Setting
from posenc.lab.experiment import Experiment
from posenc.lab.result import LengthScore, Progress, Result

LOW, HIGH = (0.2, 0.21, 0.2, 0.19, 0.2), (0.9, 0.9, 0.91, 0.9, 0.9)


def advice(**accuracies):
    results = {
        name: {
            seed: Result(Experiment(name, "copy", seed), (Progress(1, 1.0),), (LengthScore(8, accuracy, 0.0, 1.0),))
            for seed, accuracy in enumerate(seeds)
        }
        for name, seeds in accuracies.items()
    }
    setting = Setting(Experiment("any", "copy", test_lengths=(8,)), "accuracy", results)
    ((recommendation, verdicts),) = recommend([(setting, Measure("accuracy", 8))])
    shown = [(each.first, each.second) for each in verdicts if recommendation.rests_on(each)]
    return recommendation.sentence().removeprefix("accuracy at 8: "), shown


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_encodings_that_are_equal_in_every_seed_are_called_equal(accuracy):
    equal = (accuracy,) * 5
    says, shown = advice(a=equal, b=equal, c=equal)
    assert says == "undecided between a and b and c, whose means are equal."
    assert shown == [("a", "b"), ("a", "c")]


def test_equal_means_of_different_runs_are_equal_whatever_their_order():
    says, _ = advice(a=(0.1, 0.2, 0.3, 0.4, 0.7), b=(0.7, 0.3, 0.2, 0.1, 0.4))
    assert says == "undecided between a and b, whose means are equal."


def test_two_that_share_the_best_mean_are_told_from_the_rest():
    noisy, steady, close = (0.0, 1.0, 1.0, 1.0, 1.0), (0.8,) * 5, (0.0, 1.0, 1.0, 1.0, 0.9)
    says, shown = advice(low=LOW, noisy=noisy, steady=steady, close=close)
    assert says == (
        "undecided between noisy and steady and close. noisy and steady share the best mean, but these runs do not "
        "show that they are better. noisy or steady is better than low (95 % confidence)."
    )
    assert shown == [("low", "noisy"), ("low", "steady"), ("noisy", "steady"), ("noisy", "close")]


def test_one_best_is_taken_or_is_undecided():
    assert advice(low=LOW, high=HIGH)[0] == ("take high. It is the better one (95 % confidence, corrected by Holm).")
    assert advice(low=LOW, high=HIGH, again=LOW)[0].startswith("take high. It is better than each of the other 2 (")
    assert advice(a=(0.1, 0.9, 0.5, 0.2, 0.4), b=(0.9, 0.1, 0.5, 0.4, 0.3))[0] == (
        "undecided between b and a. b has the best mean, but these runs do not show that it is better."
    )


def test_who_is_shown_to_be_worse_is_named_beside_rivals():
    says, _ = advice(low=LOW, a=(0.0, 1.0, 1.0, 1.0, 0.9), steady=(0.8,) * 5, lower=LOW)
    assert says == (
        "undecided between steady and a. steady has the best mean, but these runs do not show that it is better. "
        "steady is better than low, lower (95 % confidence)."
    )


def test_nothing_is_recommended_without_seeds_or_without_a_rival():
    needs = "but a verdict needs 5 seeds of each: add --seeds 5."
    assert advice(a=(0.5,), b=(0.4,))[0] == f"no recommendation. a has the best mean, {needs}"
    assert advice(a=(0.5,), b=(0.5,)) == (f"no recommendation. a and b share the best mean, {needs}", [])
    assert advice(a=HIGH)[0] == "no recommendation. a was compared with nothing: name another encoding."
