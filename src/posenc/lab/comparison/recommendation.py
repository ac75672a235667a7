"""What to take, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

from posenc.lab.comparison.judge import SEEDS, Verdict, judge
from posenc.lab.comparison.measures import Measure
from posenc.lab.comparison.setting import Setting


@dataclass(frozen=True)
class Recommendation:
    """The contestants that are best at a measure.

    best: the one with the best mean.   rivals: those that are not shown to be worse, best mean first.   worse: those
    that are.   enough: whether there were enough seeds for any verdict.
    """

    measure: Measure
    best: str
    rivals: tuple[str, ...]
    worse: tuple[str, ...]
    enough: bool

    def sentence(self) -> str:
        """What to take, with its confidence."""
        if not self.enough:
            return (
                f"{self.measure}: no recommendation. {self.best} has the best mean, but a verdict needs {SEEDS} seeds "
                f"of each: add --seeds {SEEDS}."
            )
        if not self.rivals:
            beaten = f"better than each of the other {len(self.worse)}" if len(self.worse) > 1 else "the better one"
            return f"{self.measure}: take {self.best}. It is {beaten} (95 % confidence, corrected by Holm)."
        shared = " and ".join((self.best, *self.rivals))
        beaten = f" {self.best} is better than {', '.join(self.worse)} (95 % confidence)." if self.worse else ""
        return (
            f"{self.measure}: undecided between {shared}. {self.best} has the best mean, but these runs do "
            f"not show that it is better.{beaten}"
        )


def recommend(setting: Setting, measure: Measure) -> tuple[Recommendation, tuple[Verdict, ...]]:
    """The best of a setting, and the verdicts on all pairs that it rests on."""
    scores = setting.scores(measure)
    sign = -1 if measure.higher_is_better else 1
    ranked = sorted(scores, key=lambda name: sign * sum(scores[name].values()) / len(scores[name]))
    verdicts = judge(scores, higher_is_better=measure.higher_is_better)
    beaten = {
        verdict.second if verdict.better == verdict.first else verdict.first
        for verdict in verdicts
        if verdict.better == ranked[0]
    }
    enough = all(len(seeds) >= SEEDS for seeds in scores.values())
    rivals = tuple(name for name in ranked[1:] if name not in beaten)
    worse = tuple(name for name in ranked[1:] if name in beaten)
    return Recommendation(measure, ranked[0], rivals, worse, enough), verdicts
