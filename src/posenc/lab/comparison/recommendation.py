"""What to take, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from posenc.lab.comparison.judge import SEEDS, Verdict, judge
from posenc.lab.comparison.measures import Measure
from posenc.lab.comparison.setting import Setting


@dataclass(frozen=True)
class Recommendation:
    """The contestants that are best at a measure.

    Args:
        best: The one with the best mean, or those that share it.
        rivals: Those that are not shown to be worse, best mean first.
        worse: Those that are.
        enough: Whether there were enough seeds for any verdict.
    """

    measure: Measure
    best: tuple[str, ...]
    rivals: tuple[str, ...]
    worse: tuple[str, ...]
    enough: bool

    def sentence(self) -> str:
        """What to take, with its confidence."""
        leaders, them = " and ".join(self.best), "it is" if len(self.best) == 1 else "they are"
        lead = f"{leaders} {'has' if len(self.best) == 1 else 'share'} the best mean"
        if len(self.best + self.rivals + self.worse) == 1:
            return f"{self.measure}: no recommendation. {leaders} was compared with nothing: name another encoding."
        if not self.enough:
            return (
                f"{self.measure}: no recommendation. {lead}, but a verdict needs {SEEDS} seeds of each: add "
                f"--seeds {SEEDS}."
            )
        if not self.rivals and len(self.best) == 1:
            beaten = f"better than each of the other {len(self.worse)}" if len(self.worse) > 1 else "the better one"
            return f"{self.measure}: take {leaders}. It is {beaten} (95 % confidence, corrected by Holm)."
        shared = " and ".join(self.best + self.rivals)
        why = f". {lead}, but these runs do not show that {them} better" if self.rivals else ", whose means are equal"
        better = " or ".join(self.best)
        beaten = f" {better} is better than {', '.join(self.worse)} (95 % confidence)." if self.worse else ""
        return f"{self.measure}: undecided between {shared}{why}.{beaten}"

    def rests_on(self, verdict: Verdict) -> bool:
        """Whether a verdict is about the (first) best one, or says that another best one is better."""
        return self.enough and (self.best[0] in (verdict.first, verdict.second) or verdict.better in self.best)


def recommend(setting: Setting, measure: Measure) -> tuple[Recommendation, tuple[Verdict, ...]]:
    """The best of a setting, and the verdicts on all pairs that it rests on."""
    scores = setting.scores(measure)
    means = {name: fmean(seeds.values()) for name, seeds in scores.items()}
    ranked = sorted(means, key=lambda name: means[name], reverse=measure.higher_is_better)
    best = tuple(name for name in ranked if means[name] == means[ranked[0]])
    verdicts = judge(scores, higher_is_better=measure.higher_is_better)
    beaten = {each.second if each.better == each.first else each.first for each in verdicts if each.better in best}
    enough = all(len(seeds) >= SEEDS for seeds in scores.values())
    others = ranked[len(best) :]
    rivals = tuple(name for name in others if name not in beaten)
    worse = tuple(name for name in others if name in beaten)
    return Recommendation(measure, best, rivals, worse, enough), verdicts
