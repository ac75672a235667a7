"""Runs that learned nothing, verdicts on pairs of encodings, and recommendations among several."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from posenc.lab.comparison.setting import Measure, Setting
from posenc.lab.result import Result
from posenc.lab.statistics import LEVEL, PairedDifference, holm, paired_difference, student_interval

#: Seeds that a verdict needs; where two lie close (the mean difference is below two deviations), it needs more.
SEEDS, SEEDS_WHERE_CLOSE, CLOSE = 5, 8, 2.0
#: A loss below that of chance by less than this share of it may be the frequencies of few targets.
MARGIN = 0.01
#: With fewer seeds the interval is wide whatever was learned, so the mean decides; they have no verdict anyway.
SEEDS_OF_AN_INTERVAL = 5


def learned_nothing(setting: Setting) -> dict[str, str]:
    """Find the candidates that learned nothing, each with the reason.

    As few steps as a warm-up has count as none, although `schedule` then warms up for half of them. Otherwise the loss
    at the shortest test length is compared with that of chance, the entropy of the targets' frequencies, seed by seed:
    the mean must lie below 99 % of it, with all of its 95 % interval from five seeds on. Runs that do not record chance
    are not judged by it.

    Args:
        setting: With the runs.

    Returns:
        A reason for each candidate that learned nothing.
    """
    one, length = setting.common, setting.common.test_lengths[0]
    if one.steps <= one.warmup:
        reason = f"its {one.steps} steps are too few to count, no more than the warm-up of {one.warmup}"
        return dict.fromkeys(setting.results, reason)
    found = {name: _at_chance(list(runs.values()), length) for name, runs in setting.results.items()}
    return {name: reason for name, reason in found.items() if reason}


def chance_is_known(setting: Setting) -> bool:
    """Whether every run records the loss of chance at the shortest test length."""
    length = setting.common.test_lengths[0]
    return all(run.at(length).chance is not None for runs in setting.results.values() for run in runs.values())


def _at_chance(runs: Sequence[Result], length: int) -> str:
    """Reason why runs of a candidate learned nothing, or ""."""
    pairs = [(score.loss, score.chance) for score in (run.at(length) for run in runs) if score.chance]
    if not pairs:
        return ""
    interval = student_interval([loss - (1 - MARGIN) * chance for loss, chance in pairs])
    if (interval.high if len(pairs) >= SEEDS_OF_AN_INTERVAL else interval.mean) < 0:
        return ""
    loss, chance = (fmean(numbers) for numbers in zip(*pairs, strict=True))
    return f"its loss at {length}, {loss:.3f}, is not shown to be 1 % below that of chance, {chance:.3f}"


Scores = Mapping[str, Mapping[int, float]]


@dataclass(frozen=True)
class Verdict:
    """Answer to "does `first` differ from `second`?", from runs of the same seeds.

    Attributes:
        first: The name of an encoding.
        second: The name of another.
        seeds: That both have.
        difference: First minus second; None with fewer than two seeds.
        adjusted: The p value, corrected by Holm for all pairs of all questions that were judged together.
        better: The name of the better one, or "" where this is undecided.
        reason: Why it is undecided, or "".
    """

    first: str
    second: str
    seeds: tuple[int, ...]
    difference: PairedDifference | None
    adjusted: float
    better: str
    reason: str

    @property
    def decided(self) -> bool:
        """Whether one of the two is better."""
        return bool(self.better)

    def sentence(self, unit: str = "") -> str:
        """The verdict, with its figures."""
        if self.difference is None:
            return f"{self.first} and {self.second}: undecided. {self.reason}"
        mean, interval = abs(self.difference.mean), self.difference.interval
        low, high = sorted((abs(interval.low), abs(interval.high)))
        if self.decided:
            other = self.second if self.better == self.first else self.first
            return (
                f"{self.better} is better than {other} by {mean:.3g}{unit} (95 % interval {low:.3g} to {high:.3g}, "
                f"{len(self.seeds)} seeds, p = {self.adjusted:.2g} after Holm)."
            )
        undecided = f"{self.first} and {self.second}: undecided. {self.reason}"
        if self.difference.deviation == 0:
            return (
                f"{undecided} Without any spread these {len(self.seeds)} seeds do not show what they could have seen."
            )
        difference = f"{self.difference.mean:+.3g}{unit} [{interval.low:+.3g}, {interval.high:+.3g}]"
        if len(self.seeds) < SEEDS:  # which decide nothing, however large the difference
            return f"{undecided} Their mean difference is {difference}."
        return (
            f"{undecided} Their mean difference is {difference}; the smallest that these {len(self.seeds)} seeds could "
            f"have seen is {self.difference.visible:.3g}{unit}."
        )


@dataclass(frozen=True)
class ScoredPairs:
    """A measure on which pairs of names are compared.

    Args:
        scores: By name, then by seed.
        higher_is_better: Whether a larger score is the better one.
        pairs: To judge; all where None.
        untrained: Names whose runs learned nothing: none of them is called better.
    """

    scores: Scores
    higher_is_better: bool = True
    pairs: Sequence[tuple[str, str]] | None = None
    untrained: Collection[str] = ()

    def asked(self) -> list[tuple[str, str, tuple[int, ...]]]:
        """Each pair, with the seeds that both have."""
        pairs = itertools.combinations(self.scores, 2) if self.pairs is None else self.pairs
        return [
            (first, second, tuple(sorted(self.scores[first].keys() & self.scores[second].keys())))
            for first, second in pairs
        ]


def judge(
    scores: Scores, *, higher_is_better: bool = True, pairs: Sequence[tuple[str, str]] | None = None
) -> tuple[Verdict, ...]:
    """Judge pairs of names on the seeds that both have: `judge_together` with one question.

    Args:
        scores: By name, then by seed.
        higher_is_better: Whether a larger score is the better one.
        pairs: To judge; all where None.

    Returns:
        A verdict for each pair.

    Example:
        >>> high, low = [0.9, 0.92, 0.91, 0.9, 0.93], [0.5, 0.55, 0.5, 0.52, 0.5]
        >>> print(judge({"a": dict(enumerate(high)), "b": dict(enumerate(low))})[0].sentence())
        a is better than b by 0.398 (95 % interval 0.368 to 0.428, 5 seeds, p = 3.1e-06 after Holm).
    """
    return judge_together([ScoredPairs(scores, higher_is_better, pairs)])[0]


def judge_together(questions: Sequence[ScoredPairs]) -> tuple[tuple[Verdict, ...], ...]:
    """Judge all pairs of several questions as one family of tests.

    Holm's correction covers every pair of every question, so that any false verdict among them is made at most once in
    twenty repetitions of the whole.

    Args:
        questions: All that a report answers.

    Returns:
        For each question a verdict for each of its pairs.
    """
    tests = sum(len(seeds) > 1 for question in questions for _, _, seeds in question.asked())
    differences = [[_difference(question, *pair, tests) for pair in question.asked()] for question in questions]
    corrected = iter(holm([each.p_value for of_one in differences for each in of_one if each is not None]))
    return tuple(
        tuple(_verdicts(question, of_one, corrected)) for question, of_one in zip(questions, differences, strict=True)
    )


def _difference(
    question: ScoredPairs, first: str, second: str, seeds: Sequence[int], tests: int
) -> PairedDifference | None:
    if len(seeds) < 2:
        return None
    return paired_difference(
        [question.scores[first][seed] for seed in seeds],
        [question.scores[second][seed] for seed in seeds],
        visible_level=LEVEL / tests,
        least_standardised=CLOSE if len(seeds) < SEEDS_WHERE_CLOSE else 0.0,
    )


def _verdicts(
    question: ScoredPairs, differences: Sequence[PairedDifference | None], corrected: Iterator[float]
) -> Iterator[Verdict]:
    """Verdict of each pair; every pair with a difference takes the next adjusted p value from `corrected`."""
    for (first, second, seeds), difference in zip(question.asked(), differences, strict=True):
        adjusted = 1.0 if difference is None else next(corrected)
        reason = _why_undecided(len(seeds), difference, adjusted)
        first_is_better = difference is not None and (difference.mean > 0) == question.higher_is_better
        better = "" if reason else first if first_is_better else second
        if better in question.untrained:
            reason, better = f"{better} has the better mean, but learned nothing.", ""
        yield Verdict(first, second, seeds, difference, adjusted, better, reason)


def _why_undecided(count: int, difference: PairedDifference | None, adjusted: float) -> str:
    """Reason why there is no verdict, or "" where there is one."""
    if count < SEEDS or difference is None:
        return f"A verdict needs {SEEDS} seeds of both; there are {count}."
    if difference.mean == 0 and difference.deviation == 0:
        return "They are equal in every seed."
    if adjusted >= LEVEL:
        return f"No difference is seen (p = {adjusted:.2g} after Holm)."
    if difference.standardised < CLOSE and count < SEEDS_WHERE_CLOSE:
        return f"They lie close, so a verdict needs {SEEDS_WHERE_CLOSE} seeds; there are {count}."
    return ""


@dataclass(frozen=True)
class Recommendation:
    """The candidates that are best at a measure.

    Attributes:
        measure: What they are best at.
        best: The name with the best mean of those that no verdict calls worse, or those that share it.
        rivals: Those that are not shown to be worse, best mean first.
        worse: Those that are.
        enough: Whether there were enough seeds for any verdict.
        untrained: Why candidates learned nothing, by name; see `learned_nothing`.
        uneven: Whether some have other seeds: then one that is called worse, seed by seed, may have the best mean.
    """

    measure: Measure
    best: tuple[str, ...]
    rivals: tuple[str, ...]
    worse: tuple[str, ...]
    enough: bool
    untrained: Mapping[str, str]
    uneven: bool

    @property
    def taken(self) -> str:
        """The one that is recommended, or ""."""
        alone = len(self.best) == 1 and not self.rivals and bool(self.worse)
        return self.best[0] if alone and self.enough and self.best[0] not in self.untrained else ""

    def sentence(self) -> str:
        """Recommendation with its confidence."""
        idle = [name for name in self.best if name in self.untrained]
        if idle:
            everyone = len(self.untrained) == len(self.best + self.rivals + self.worse)
            ahead = f"{idle[0]} has {self._best_mean}, but learned nothing"
            who = f"No encoding learned anything, not even {idle[0]} with {self._best_mean}" if everyone else ahead
            return f"{self.measure}: no recommendation. {who}: {self.untrained[idle[0]]}. Train for more --steps."
        return self._among_trained()

    @property
    def _best_mean(self) -> str:
        return "the best mean of those that are not shown to be worse" if self.uneven else "the best mean"

    def _among_trained(self) -> str:
        leaders, them = " and ".join(self.best), "it is" if len(self.best) == 1 else "they are"
        lead = f"{leaders} {'has' if len(self.best) == 1 else 'share'} {self._best_mean}"
        if len(self.best + self.rivals + self.worse) == 1:
            return f"{self.measure}: no recommendation. {leaders} was compared with nothing: name another encoding."
        if not self.enough:
            return (
                f"{self.measure}: no recommendation. {lead}, but a verdict needs {SEEDS} seeds of each: add "
                f"--seeds {SEEDS}."
            )
        if self.taken:
            beaten = f"better than each of the other {len(self.worse)}" if len(self.worse) > 1 else "the better one"
            return f"{self.measure}: take {leaders}. It is {beaten} (95 % confidence, corrected by Holm)."
        shared = " and ".join(self.best + self.rivals)
        why = f". {lead}, but these runs do not show that {them} better" if self.rivals else ", whose means are equal"
        better = " or ".join(self.best)
        beaten = f" {better} is better than {', '.join(self.worse)} (95 % confidence)." if self.worse else ""
        return f"{self.measure}: undecided between {shared}{why}.{beaten}"

    def rests_on(self, verdict: Verdict) -> bool:
        """Whether seeds are enough, and a verdict is about the first best name or won by one of the best."""
        return self.enough and (self.best[0] in (verdict.first, verdict.second) or verdict.better in self.best)


def recommend(asked: Sequence[tuple[Setting, Measure]]) -> tuple[tuple[Recommendation, tuple[Verdict, ...]], ...]:
    """Find the best candidates of settings, by each measure that counts; all verdicts are one family of tests.

    Args:
        asked: Each setting with the runs, and what counts in it.

    Returns:
        For each the recommendation, and the verdicts on all pairs that it rests on.
    """
    scores = [setting.scores(measure) for setting, measure in asked]
    untrained = [learned_nothing(setting) for setting, _ in asked]
    questions = [
        ScoredPairs(each, measure.higher_is_better, untrained=idle)
        for each, (_, measure), idle in zip(scores, asked, untrained, strict=True)
    ]
    return tuple(
        (_recommendation(measure, each, verdicts, idle), verdicts)
        for (_, measure), each, verdicts, idle in zip(asked, scores, judge_together(questions), untrained, strict=True)
    )


def _recommendation(
    measure: Measure, scores: Scores, verdicts: Sequence[Verdict], untrained: Mapping[str, str]
) -> Recommendation:
    means = {name: fmean(seeds.values()) for name, seeds in scores.items()}
    worse_than_some = {_worse(each) for each in verdicts if each.decided}
    sign = -1 if measure.higher_is_better else 1
    rank = {name: (name in worse_than_some, sign * mean) for name, mean in means.items()}
    ranked = sorted(rank, key=lambda name: rank[name])
    best = tuple(name for name in ranked if rank[name] == rank[ranked[0]])
    beaten = {_worse(each) for each in verdicts if each.better in best}
    enough = all(len(seeds) >= SEEDS for seeds in scores.values())
    others = ranked[len(best) :]
    rivals = tuple(name for name in others if name not in beaten)
    worse = tuple(name for name in others if name in beaten)
    uneven = len({frozenset(seeds) for seeds in scores.values()}) > 1
    return Recommendation(measure, best, rivals, worse, enough, untrained, uneven)


def _worse(verdict: Verdict) -> str:
    return verdict.second if verdict.better == verdict.first else verdict.first
