"""Statistics against scipy, against simulation and against definitions written the long way."""

import math

import numpy as np
import pytest
from scipy import stats

from posenc.lab.comparison.judge import ScoredPairs, judge, judge_together
from posenc.lab.statistics import (
    area_under,
    effective_length,
    holm,
    paired_difference,
    smallest_visible,
    steps_to,
    student_interval,
)


@pytest.mark.parametrize("count", [2, 5, 8, 30])
def test_interval_and_p_value_are_those_of_scipy(count):
    rng = np.random.default_rng(count)
    first = rng.normal(0.7, 0.1, count)
    second = first - rng.normal(0.05, 0.04, count)
    ours, test = paired_difference(first, second), stats.ttest_rel(first, second)
    assert ours.p_value == pytest.approx(test.pvalue, rel=1e-10)
    interval = test.confidence_interval(0.95)
    assert (ours.interval.low, ours.interval.high) == pytest.approx((interval.low, interval.high), rel=1e-10)
    alone = student_interval(first)
    expected = stats.t.interval(0.95, count - 1, first.mean(), stats.sem(first))
    assert (alone.low, alone.high) == pytest.approx(expected, rel=1e-10)


def test_the_smallest_visible_effect_is_seen_four_times_in_five():
    rng, count, deviation = np.random.default_rng(0), 5, 0.3
    effect = smallest_visible(deviation, count)
    samples = rng.normal(effect, deviation, (20_000, count))
    seen = (stats.ttest_1samp(samples, 0.0, axis=1).pvalue < 0.05).mean()
    assert seen == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / 20_000))
    shown = by_the_rule_of_verdicts(rng, count, smallest_visible(deviation, count, least_standardised=2.0), deviation)
    assert shown == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / 2_000))
    assert by_the_rule_of_verdicts(rng, count, effect, deviation) < 0.5  # the t test alone says too much


def by_the_rule_of_verdicts(rng, count, effect, deviation, repetitions=2_000):
    """Share of repetitions in which a real effect between two encodings is called by its name."""
    samples = rng.normal(effect, deviation, (repetitions, count))
    zeros = dict.fromkeys(range(count), 0.0)
    return np.mean([judge({"a": dict(enumerate(each)), "b": zeros})[0].better == "a" for each in samples.tolist()])


def test_a_report_without_any_difference_has_a_false_verdict_once_in_twenty_times():
    rng, reports = np.random.default_rng(1), 120
    together = apart = 0
    for _ in range(reports):
        runs = rng.normal(0.5, 0.1, (9, 4, 8)).tolist()  # 3 tasks with 3 measures each, of 4 encodings with 8 seeds
        questions = [ScoredPairs({name: dict(enumerate(by)) for name, by in enumerate(each)}) for each in runs]
        together += any(verdict.decided for verdicts in judge_together(questions) for verdict in verdicts)
        apart += any(verdict.decided for question in questions for verdict in judge(question.scores))
    assert together / reports <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / reports)
    assert apart / reports > 0.2  # a family for each measure: the fault that this would find


def test_pairing_sees_what_differs_less_than_seeds_do():
    seeds = np.array([0.2, 0.5, 0.9, 0.4, 0.7])
    better = seeds + np.array([0.03, 0.02, 0.03, 0.025, 0.028])
    assert paired_difference(better, seeds).p_value < 0.001 < 0.5 < stats.ttest_ind(better, seeds).pvalue


def test_equal_differences_have_no_spread():
    same, constant = paired_difference([1.0] * 5, [1.0] * 5), paired_difference([1.0] * 5, [0.25] * 5)
    assert (same.p_value, same.standardised) == (1.0, 0.0)
    assert math.isnan(same.visible)  # a saturated pair says nothing about what it could have seen
    assert (constant.p_value, constant.standardised) == (stats.binomtest(5, 5).pvalue, math.inf)
    assert constant.interval.low == constant.interval.high == 0.75


def test_holm_by_its_definition():
    rng = np.random.default_rng(1)
    for _ in range(50):
        values = rng.random(6) ** 3
        order = np.argsort(values)
        expected = np.empty(6)
        for rank, index in enumerate(order):
            expected[index] = min(1.0, max((6 - r) * values[order[r]] for r in range(rank + 1)))
        assert holm(values) == pytest.approx(expected)


def test_a_loss_that_rises_again_has_not_arrived():
    curve = [(1, 3.0), (2, 0.5), (3, 2.0), (4, 0.9), (5, 0.8)]
    assert steps_to(curve, 1.0) == steps_to(curve, 0.9) == 4
    assert steps_to(curve, 0.1) == math.inf
    assert steps_to([*curve, (6, math.nan)], 1.0) == math.inf
    every = np.random.default_rng(0).random(40)
    reported = [(10, every[:10].mean()), (25, every[10:25].mean()), (40, every[25:].mean())]
    assert area_under(reported) == pytest.approx(every.mean())


def test_effective_length_ends_at_the_first_failure():
    assert effective_length({16: 0.9, 8: 1.0, 32: 0.2, 64: 0.99}, 0.85) == 16
    assert effective_length({8: 0.5}, 0.85) == 0
    assert effective_length({8: 1.0, 16: 1.4, 32: 2.0}, 1.5, higher_is_better=False) == 16


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: paired_difference([1.0, 2.0], [1.0]), "first and second must have one number for each seed, two or"),
        (lambda: student_interval([math.nan]), "values must be one or more finite numbers; got"),
        (lambda: area_under([]), "curve must have a point; got none"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()
