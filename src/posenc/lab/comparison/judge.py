"""Which of two encodings is better at one thing, or that this is undecided and what the runs could have seen."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from posenc.lab.statistics.holm import holm
from posenc.lab.statistics.paired import LEVEL, PairedDifference, paired_difference

#: Seeds that a verdict needs; where two lie close (the mean difference is below two deviations), it needs more.
SEEDS, SEEDS_WHERE_CLOSE, CLOSE = 5, 8, 2.0

AttentionScore = Mapping[str, Mapping[int, float]]


@dataclass(frozen=True)
class Verdict:
    """The answer to "does `first` differ from `second`?", from runs of the same seeds.

    Args:
        difference: First minus second.
        adjusted: The p value, corrected by Holm for every pair that was asked about.
        better: The name of the better one, or "" where this is undecided, and `reason` says why.
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
        return (
            f"{self.first} and {self.second}: undecided. {self.reason} Their mean difference is "
            f"{self.difference.mean:+.3g}{unit} [{interval.low:+.3g}, {interval.high:+.3g}]; the smallest that these "
            f"{len(self.seeds)} seeds could have seen is {self.difference.visible:.3g}{unit}."
        )


def judge(
    scores: AttentionScore, *, higher_is_better: bool = True, pairs: Sequence[tuple[str, str]] | None = None
) -> tuple[Verdict, ...]:
    """A verdict on each pair of names, all pairs by default.

    A pair is compared on the seeds that both have. Holm's correction covers all pairs of this call, so that any false
    verdict among them is made at most once in twenty repetitions of the whole comparison.

    Args:
        scores: By name, then by seed.

    Example:
        >>> scores = {"a": dict(enumerate([0.9, 0.92, 0.91, 0.9, 0.93])), "b": dict(enumerate([0.5, 0.55, 0.5, 0.52, 0.5]))}
        >>> print(judge(scores)[0].sentence())
        a is better than b by 0.398 (95 % interval 0.368 to 0.428, 5 seeds, p = 3.1e-06 after Holm).
    """
    asked = list(itertools.combinations(scores, 2)) if pairs is None else list(pairs)
    common = [tuple(sorted(scores[first].keys() & scores[second].keys())) for first, second in asked]
    differences = [
        paired_difference(
            [scores[first][seed] for seed in seeds],
            [scores[second][seed] for seed in seeds],
            visible_level=LEVEL / len(asked),
        )
        if len(seeds) > 1
        else None
        for (first, second), seeds in zip(asked, common, strict=True)
    ]
    corrected = iter(holm([each.p_value for each in differences if each is not None]))
    verdicts = []
    for (first, second), seeds, difference in zip(asked, common, differences, strict=True):
        adjusted = 1.0 if difference is None else next(corrected)
        reason = _why_undecided(len(seeds), difference, adjusted)
        better = "" if difference is None or reason else (first, second)[(difference.mean > 0) != higher_is_better]
        verdicts.append(Verdict(first, second, seeds, difference, adjusted, better, reason))
    return tuple(verdicts)


def _why_undecided(count: int, difference: PairedDifference | None, adjusted: float) -> str:
    """A sentence, or "" where there is a verdict."""
    if count < SEEDS or difference is None:
        return f"A verdict needs {SEEDS} seeds of both; there are {count}."
    if difference.mean == 0 and difference.deviation == 0:
        return "They are equal in every seed."
    if adjusted >= LEVEL:
        return f"No difference is seen (p = {adjusted:.2g} after Holm)."
    if difference.standardised < CLOSE and count < SEEDS_WHERE_CLOSE:
        return f"They lie close, so a verdict needs {SEEDS_WHERE_CLOSE} seeds; there are {count}."
    return ""
