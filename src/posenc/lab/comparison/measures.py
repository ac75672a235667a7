"""What a comparison measures of each run: one number, a name, and which way is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from posenc.lab.result import LengthScore, Result
from posenc.lab.statistics.learning_curves import area_under, effective_length, steps_to
from posenc.lab.tasks.task import Metric

#: How each metric is written, and whether more of it is better.
WORDS: Mapping[str, tuple[str, bool]] = {
    "accuracy": ("accuracy", True),
    "exact": ("exact match", True),
    "loss": ("loss (nats a token)", False),
    "bleu": ("BLEU", True),
}
#: A length counts towards the effective length while this share of what can be right is right.
PASSES = 0.85


@dataclass(frozen=True)
class Measure:
    """A score at one test length, or, with length 0, the area under the training curve."""

    metric: Metric
    length: int = 0

    @property
    def higher_is_better(self) -> bool:
        """Whether a larger number is the better one."""
        return bool(self.length) and WORDS[self.metric][1]

    def __str__(self) -> str:
        if not self.length:
            return "mean training loss over all steps"
        return f"{WORDS[self.metric][0]} at {self.length}"

    def of(self, result: Result) -> float:
        """The number of a run."""
        if not self.length:
            return area_under([(point.step, point.loss) for point in result.curve])
        return metric_value(result.at(self.length), self.metric)


def metric_value(score: LengthScore, metric: Metric) -> float:
    """A score's number."""
    number = getattr(score, metric)
    if number is None:
        raise ValueError(f"metric must be one that the task has; got {metric}. Choose accuracy, exact or loss.")
    return float(number)


def effective_reach(result: Result, metric: Metric) -> int:
    """The effective length of a run.

    As far as it is right in 85 of 100 cases, or, for a loss, as far as the loss stays within a tenth of what it is at
    the shortest test length.
    """
    scores = {score.length: metric_value(score, metric) for score in result.scores}
    if metric == "loss":
        return effective_length(scores, 1.1 * scores[min(scores)], higher_is_better=False)
    threshold = PASSES * 100 if metric == "bleu" else PASSES
    return effective_length(scores, threshold)


def steps_to_loss(result: Result, threshold: float) -> float:
    """The first step from which the training loss stays at or below a threshold."""
    return steps_to([(point.step, point.loss) for point in result.curve], threshold)
