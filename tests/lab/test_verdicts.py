"""Verdicts on pairs and on claims, and the table and picture of a setting, from numbers that are made up."""

import math

import numpy as np
import pytest
from scipy import stats

from posenc.lab.claims.claim_catalog import TRAINED
from posenc.lab.claims.findings import read_findings
from posenc.lab.claims.judging import LEVEL, ClaimPart, Need, compound, exceeds, runs, trained
from posenc.lab.claims.quantities import Gain, accuracy_at
from posenc.lab.comparison.comparison_picture import comparison_picture
from posenc.lab.comparison.comparison_report import score_table
from posenc.lab.comparison.judge import judge
from posenc.lab.comparison.setting import Setting, common
from posenc.lab.experiment import Experiment
from posenc.lab.result import LengthScore, Progress, Result
from posenc.lab.statistics import smallest_visible

FILED = read_findings()
NOISE = np.array([0.3, -0.1, 0.05, -0.25, 0.1, 0.2, -0.2, -0.1])


def by_seed(values, seeds=None):
    return dict(zip(seeds or range(len(values)), map(float, values), strict=True))


def with_gap(p, count=8):
    """Two sides whose paired t test gives this p."""
    wanted = stats.t.isf(p / 2, count - 1)
    noise = NOISE[:count] - NOISE[:count].mean()
    return by_seed(noise + wanted * noise.std(ddof=1) / math.sqrt(count)), by_seed(np.zeros(count))


def test_a_verdict_is_corrected_for_every_pair_that_is_asked():
    better, worse = with_gap(0.02)
    scores = {"a": better, "b": worse, "c": worse}
    (alone,) = judge({"a": better, "b": worse})
    assert (alone.better, alone.adjusted) == ("a", pytest.approx(0.02))
    first, second, equal = judge(scores)
    assert [each.better for each in (first, second, equal)] == ["", "", ""]
    assert first.adjusted == second.adjusted == pytest.approx(0.06)
    assert equal.reason == "They are equal in every seed."
    assert first.difference.visible == pytest.approx(smallest_visible(first.difference.deviation, 8, 0.05 / 3))
    assert first.difference.visible > alone.difference.visible


def test_what_could_have_been_seen_is_under_the_rule_of_the_verdict():
    """Holm's family are the pairs with a p value; and with fewer than five seeds nothing would be decided."""
    two = {"a": by_seed([0.5, 0.6, 0.7, 0.5, 0.6]), "b": by_seed([0.5, 0.7, 0.6, 0.6, 0.5])}
    with_failures = judge(two | {name: {0: 0.1} for name in "cdefghij"})[0]
    assert with_failures.adjusted == judge(two)[0].adjusted
    assert with_failures.difference.visible == judge(two)[0].difference.visible
    (few,) = judge({"a": by_seed([1.0, 1.1]), "b": by_seed([0.5, 0.7])})
    assert few.sentence() == (
        "a and b: undecided. A verdict needs 5 seeds of both; there are 2. Their mean difference is +0.45 [-0.185, "
        "+1.09]."
    )


def test_seeds_are_paired_by_name_and_not_by_order():
    first = by_seed([0.9, 0.5, 0.7, 0.3, 0.6], [0, 1, 2, 3, 4])
    second = by_seed([0.55, 0.28, 0.66, 0.45, 0.87, 0.0], [4, 3, 2, 1, 0, 9])
    (verdict,) = judge({"first": first, "second": second})
    assert verdict.seeds == (0, 1, 2, 3, 4)
    assert verdict.difference.differences == pytest.approx((0.03, 0.05, 0.04, 0.02, 0.05))
    assert verdict.better == "first"
    assert judge({"first": first, "second": second}, higher_is_better=False)[0].better == "second"


def test_few_seeds_and_close_pairs_are_undecided():
    gap = by_seed([1.0, 1.1, 0.9, 1.0])
    assert "needs 5 seeds of both; there are 4" in judge({"a": gap, "b": by_seed([0.0] * 4)})[0].reason
    better, worse = with_gap(0.02, 5)
    (close,) = judge({"a": better, "b": worse})
    assert close.difference.standardised < 2
    assert "They lie close, so a verdict needs 8 seeds; there are 5." in close.reason
    assert "could have seen is" in close.sentence()
    expected = smallest_visible(close.difference.deviation, 5, least_standardised=2.0)
    assert close.difference.visible == pytest.approx(expected)
    (saturated,) = judge({"a": by_seed([1.0] * 5), "b": by_seed([1.0] * 5)})
    assert saturated.sentence().endswith("Without any spread these 5 seeds do not show what they could have seen.")
    (constant,) = judge({"a": by_seed([1.0] * 5), "b": by_seed([0.75] * 5)})
    assert (constant.better, constant.adjusted) == ("", 0.0625)
    assert judge(dict(zip("ab", with_gap(0.02, 8), strict=True)))[0].decided


def test_a_part_is_judged_by_a_wide_interval_beside_its_margin():
    sample = [0.5, 0.6, 0.55, 0.52, 0.58]
    low, high = stats.t.interval(1 - 0.05 / 40, 4, np.mean(sample), stats.sem(sample))
    for margin, verdict in ((low - 1e-6, "supported"), (high + 1e-6, "contradicted"), (low + 1e-6, "undecided")):
        word, listed = exceeds("gain", by_seed(sample), margin)
        figures = dict(listed)
        assert word == verdict
        assert (figures["gain, from"], figures["gain, to"]) == pytest.approx((low, high))
        assert ("gain, smallest visible" in figures) == (verdict == "undecided")
    assert figures["gain, smallest visible"] == pytest.approx(smallest_visible(np.std(sample, ddof=1), 5, LEVEL))
    assert exceeds("gain", by_seed([0.5] * 5), 0.1)[0] == "undecided"  # no spread, so no interval


def claim_of(**parts):
    (experiment, *_) = runs("fixed-offset", ("NoPE(dim=64)",))
    return trained(
        statement="s", sources=("lecture",), rule="r", experiments=(experiment,), parts=parts, margin=0.1, note="n"
    )


def runs_of(**accuracies):
    return [
        result(name, seed, [1.0], accuracy)
        for name, by in accuracies.items()
        for seed, accuracy in enumerate(np.linspace(*by, 8))
    ]


@pytest.mark.parametrize(
    ("accuracies", "verdict"),
    [
        ({"a": (0.9, 0.95), "b": (0.5, 0.53), "none": (0.1, 0.12)}, "supported"),
        ({"a": (0.5, 0.53), "b": (0.9, 0.95), "none": (0.1, 0.12)}, "contradicted"),
        ({"a": (0.2, 0.9), "b": (0.5, 0.53), "none": (0.1, 0.12)}, "undecided"),
        ({"a": (0.985, 1.0), "b": (0.985, 0.99), "none": (0.1, 0.12)}, "not testable"),  # at the ceiling
        ({"a": (0.11, 0.15), "b": (0.12, 0.14), "none": (0.1, 0.12)}, "not testable"),  # at the floor
    ],
)
def test_a_difference_needs_room_to_show(accuracies, verdict):
    part = ClaimPart(Gain("a", "b", accuracy_at(32)))
    finding = claim_of(gain=part).decide(runs_of(**accuracies))
    assert (finding.verdict, finding.parts) == (verdict, (("gain", verdict),))


def test_what_a_part_presupposes_is_shown_first():
    results = runs_of(a=(0.9, 0.95), b=(0.5, 0.53), none=(0.86, 0.93))
    needs = (Need("what a gains over none", Gain("a", "none", accuracy_at(32)), 0.1),)
    claim = claim_of(
        free=ClaimPart(Gain("a", "b", accuracy_at(32))), bound=ClaimPart(Gain("a", "b", accuracy_at(32)), needs)
    )
    finding = claim.decide(results)
    assert finding.parts == (("free", "supported"), ("bound", "not testable"))
    assert finding.verdict == "undecided"
    assert dict(finding.figures)["bound, needs what a gains over none"] == pytest.approx(0.03)
    assert "Testable only if what a gains over none exceeds 0.1" in claim.rule
    assert compound(["supported", "contradicted", "not testable"]) == "contradicted"
    assert compound(["not testable", "not testable"]) == "not testable"


def test_forty_parts_have_one_false_verdict_in_twenty_times():
    assert pytest.approx(0.05 / 40) == LEVEL
    assert sum(len(FILED[name].finding.parts) for name in TRAINED) <= 40


def result(encoding, seed, losses, accuracy):
    curve = tuple(Progress(10 * index, loss) for index, loss in enumerate(losses, 1))
    return Result(
        Experiment(encoding, "copy", seed=seed), curve, tuple(LengthScore(n, accuracy, 0, 1) for n in (32, 64, 128))
    )


def test_an_advantage_is_of_equal_seeds():
    results = [result("a", 0, [1.0], 0.9), result("b", 1, [1.0], 0.1), result("b", 0, [1.0], 0.5)]
    assert Gain("a", "b", accuracy_at(32)).by_seed(results) == {0: pytest.approx(0.4)}


@pytest.fixture
def setting():
    fast, slow = (4.0, 1.0, 0.5, 0.0), (4.0, 3.0, 2.0, 1.0)
    results = {
        "fast": {seed: result("fast", seed, fast, accuracy) for seed, accuracy in enumerate((0.9, 0.8, 1.0))},
        "slow": {seed: result("slow", seed, slow, 0.5) for seed in range(3)},
    }
    return Setting(common(results["fast"][0].experiment), "accuracy", results)


def test_the_table_says_how_fast_each_learns(setting):
    headers, rows, _ = score_table(setting)
    assert setting.threshold == pytest.approx(0.4)  # a tenth of 4.0 to 0.0 is left
    fast, slow = (dict(zip(headers, row, strict=True)) for row in rows)
    assert (fast["steps to 0.4"], slow["steps to 0.4"]) == ("40", "never")
    assert (fast["train. loss"], slow["train. loss"]) == ("1.375 ±0.000", "2.500 ±0.000")
    assert fast["at 32"] == "0.900 ±0.248"


def test_the_picture_has_every_run_and_the_intervals(setting):
    scores = comparison_picture([setting]).axes[0]
    dots = [line for line in scores.lines if line.get_linestyle() == "None" and len(line.get_xdata()) == 3]
    assert sorted({line.get_ydata()[0] for line in dots if line.get_alpha()}) == [0.5, 0.8, 0.9, 1.0]
    fast, _ = (container.lines[2][0].get_segments() for container in scores.containers)
    assert fast[0][:, 1] == pytest.approx(stats.t.interval(0.95, 2, 0.9, stats.sem([0.9, 0.8, 1.0])))
