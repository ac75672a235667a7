"""What `posenc compare` tells a researcher to take, and when it tells nothing: runs that learned nothing."""

import dataclasses

import numpy as np
import pytest

from posenc.lab.comparison.judge import chance_is_known, learned_nothing, recommend
from posenc.lab.comparison.setting import Measure, Setting
from posenc.lab.experiment import Experiment
from posenc.lab.result import LengthScore, Progress, Result
from posenc.lab.scoring import _entropy

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


def test_the_best_is_never_one_that_a_verdict_calls_worse():
    """a has eight seeds, the last three of them hard for everyone; c has the first five, and the better mean of all."""
    a, c = (0.9, 0.89, 0.88, 0.9, 0.89, 0.1, 0.2, 0.1), (0.8, 0.785, 0.78, 0.795, 0.79)
    assert advice(a=a, c=c) == ("take a. It is the better one (95 % confidence, corrected by Holm).", [("a", "c")])
    says, _ = advice(a=a, c=c, d=(0.6, 0.9, 0.5, 0.3, 0.7, 0.1, 0.2, 0.1))
    assert says == (
        "undecided between a and d. a has the best mean of those that are not shown to be worse, but these runs do not "
        "show that it is better. a is better than c (95 % confidence)."
    )


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


LOSS = (2.50, 2.52, 2.51, 2.49, 2.50)


def trained(steps=500, chance=2.5, **losses):
    """A setting of runs with these losses at length 8, by seed."""
    shared = Experiment("any", "character-lm", steps=steps, test_lengths=(8, 16))
    results = {
        name: {
            seed: Result(
                dataclasses.replace(shared, encoding=name, seed=seed),
                (Progress(1, 3.0), Progress(steps, loss)),
                tuple(LengthScore(length, 0.1, 0.0, loss, chance=chance) for length in (8, 16)),
            )
            for seed, loss in enumerate(seeds)
        }
        for name, seeds in losses.items()
    }
    return Setting(shared, "loss", results)


def says(setting, length=8):
    ((recommendation, verdicts),) = recommend([(setting, Measure("loss", length))])
    assert bool(recommendation.taken) == (": take " in recommendation.sentence())
    return recommendation.sentence(), [each.better for each in verdicts]


def lower(by):
    """Losses lower by about so much: equal differences in every seed would have no spread, and so no t test."""
    return tuple(loss - by * (1 + 0.01 * (seed - 2)) for seed, loss in enumerate(LOSS))


def test_a_run_no_longer_than_a_warm_up_has_no_verdict():
    better = {"a": LOSS, "b": lower(1.0)}
    assert says(trained(51, **better))[0].startswith("loss (nats a token) at 8: take b.")
    sentence, verdicts = says(trained(12, **better))
    assert sentence == (
        "loss (nats a token) at 8: no recommendation. No encoding learned anything, not even b with the best mean: its "
        "12 steps are too few to count, no more than the warm-up of 50. Train for more --steps."
    )
    assert verdicts == [""]
    assert says(trained(50, **better))[1] == [""]


def test_a_loss_of_chance_has_no_verdict_however_clear_the_difference():
    """b is below a in every seed, and above chance, or below it by less than a hundredth or than the seeds' spread."""
    for by, chance in ((0.0, 2.4), (0.02, 2.5), (0.03, 2.5)):
        setting = trained(chance=chance, a=lower(by - 0.5), b=lower(by))
        sentence, verdicts = says(setting)
        assert "No encoding learned anything, not even b with the best mean: its loss at 8, 2." in sentence
        assert f"is not shown to be 1 % below that of chance, {chance:.3f}. Train for more" in sentence
        assert verdicts == [""]
        assert set(learned_nothing(setting)) == {"a", "b"}
    assert says(trained(a=lower(-0.5), b=lower(0.05)))[1] == ["b"]


def test_who_learned_something_is_better_than_who_did_not_and_never_the_other_way():
    setting = trained(learns=lower(0.5), idle=LOSS)
    assert says(setting)[0].startswith("loss (nats a token) at 8: take learns. It is the better one")
    far = {name: dict(runs) for name, runs in setting.results.items()}
    for seed, run in far["learns"].items():
        worse = (run.scores[0], dataclasses.replace(run.scores[1], loss=9.0 + 0.01 * seed))
        far["learns"][seed] = dataclasses.replace(run, scores=worse)
    sentence, verdicts = says(Setting(setting.common, "loss", far), 16)
    assert "no recommendation. idle has the best mean, but learned nothing: its loss at 8, 2.504," in sentence
    assert verdicts == [""]


def test_results_without_chance_are_judged_and_said_to_be():
    setting = trained(chance=None, a=LOSS, b=lower(1.0))
    assert says(setting)[1] == ["b"]
    assert not chance_is_known(setting)
    assert chance_is_known(trained(a=LOSS))


def test_chance_is_what_the_best_guess_without_reading_loses():
    """Of eight values in equal shares ln 8; and a model that says the frequencies has just this loss."""
    assert _entropy(np.arange(8).repeat(3)) == pytest.approx(np.log(8))
    assert _entropy(np.array([5, 5])) == 0.0
    assert _entropy(np.array([1, 1, 1, 2])) == pytest.approx(-0.75 * np.log(0.75) - 0.25 * np.log(0.25))
