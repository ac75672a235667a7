"""Runs that differ in encoding and seed alone, gathered, and what is measured of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, median_low

from posenc.lab.comparison.rate_sweep import RateSweep
from posenc.lab.experiment import Experiment
from posenc.lab.result import LengthScore, Result, versions_that_differ
from posenc.lab.statistics import Interval, area_under, effective_length, steps_to, student_interval
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
#: What stands in the place of the encoding in the experiment that describes a setting.
ANY = "any"
#: A share of right sequences below which a length tells no encodings apart.
FLOOR = 0.01
#: What is left to learn where the training loss counts as learned.
LEFT = 0.1


@dataclass(frozen=True)
class Measure:
    """A score at a test length, or, with length 0, the mean training loss over all steps."""

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
        """The measure's number of a run."""
        if not self.length:
            return area_under([(point.step, point.loss) for point in result.curve])
        return metric_value(result.at(self.length), self.metric)


def metric_value(score: LengthScore, metric: Metric) -> float:
    """Read the value of a metric from a score.

    Raises:
        ValueError: The score lacks the metric.
    """
    number = getattr(score, metric)
    if number is None:
        raise ValueError(f"metric must be one that the task has; got {metric}. Choose accuracy, exact or loss.")
    return float(number)


def effective_reach(result: Result, metric: Metric) -> int:
    """Longest test length up to which a run passes at every length; 0 if it fails at the shortest.

    It reaches as far as 85 of 100 cases are right, or, for a loss, as far as the loss stays within a tenth of what it
    is at the shortest test length.
    """
    scores = {score.length: metric_value(score, metric) for score in result.scores}
    if metric == "loss":
        return effective_length(scores, 1.1 * scores[min(scores)], higher_is_better=False)
    threshold = PASSES * 100 if metric == "bleu" else PASSES
    return effective_length(scores, threshold)


def steps_to_loss(result: Result, threshold: float) -> float:
    """First step from which the training loss stays at or below a threshold."""
    return steps_to([(point.step, point.loss) for point in result.curve], threshold)


@dataclass(frozen=True)
class Setting:
    """Results of runs that differ only in encoding, its learning rates and seed, by candidate, then by seed.

    Args:
        common: The experiment without encoding and seed.
        metric: What the task is scored by.
        results: By name of the candidate, then by seed.
        sweep: How each candidate's learning rate was chosen; None where all have that of `common`.
    """

    common: Experiment
    metric: Metric
    results: Mapping[str, Mapping[int, Result]]
    sweep: RateSweep | None = None

    @property
    def seeds(self) -> tuple[int, ...]:
        """Every seed that some candidate has."""
        return tuple(sorted({seed for each in self.results.values() for seed in each}))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Measures that are judged: the shortest test length, the longest not at the floor, and the training loss."""
        lengths = self.common.test_lengths
        above = [length for length in lengths if length not in self.at_floor]
        ends = dict.fromkeys((lengths[0], above[-1] if above else lengths[0]))
        return (*(Measure(self.metric, length) for length in ends), Measure(self.metric))

    @property
    def at_floor(self) -> tuple[int, ...]:
        """Test lengths at which every candidate's mean is below 1 % exact match or 1 BLEU; none for other metrics."""
        if self.metric not in ("exact", "bleu"):
            return ()
        floor = FLOOR * (100 if self.metric == "bleu" else 1)
        measures = [Measure(self.metric, length) for length in self.common.test_lengths]
        best = [max(self.interval(name, each).mean for name in self.results) for each in measures]
        return tuple(each.length for each, mean in zip(measures, best, strict=True) if mean < floor)

    def scores(self, measure: Measure) -> dict[str, dict[int, float]]:
        """The numbers of a measure by candidate, then by seed."""
        return {name: {seed: measure.of(run) for seed, run in runs.items()} for name, runs in self.results.items()}

    def interval(self, name: str, measure: Measure) -> Interval:
        """Mean and Student-t interval of a candidate."""
        return student_interval(list(self.scores(measure)[name].values()))

    def reach(self, name: str) -> int:
        """Median effective length of a candidate's runs; of an even number, the lower middle one."""
        return median_low(effective_reach(run, self.metric) for run in self.results[name].values())

    @property
    def threshold(self) -> float:
        """Training loss that counts as learned.

        Nine tenths of the way from the first loss that was seen, the mean of all runs, to the lowest last loss, the
        mean of the best candidate.
        """
        runs = [run for each in self.results.values() for run in each.values()]
        first = fmean(run.curve[0].loss for run in runs)
        last = min(fmean(run.curve[-1].loss for run in each.values()) for each in self.results.values())
        return last + LEFT * (first - last)

    def steps(self, name: str) -> float:
        """Median steps of a candidate's runs until the loss stays at or below the threshold; infinity for never."""
        return median_low(steps_to_loss(run, self.threshold) for run in self.results[name].values())

    def conditions(self) -> str:
        """Everything that was equal, in a line: a verdict holds for this and no more."""
        one = self.common
        learned = [run for runs in self.results.values() for run in runs.values() if run.learned]
        rates = sorted({run.experiment.encoding_rate for run in learned})
        mixed = versions_that_differ(run for runs in self.results.values() for run in runs.values())
        own = f" (parameters of encodings × {', '.join(f'{rate:g}' for rate in rates)})" if rates else ""
        own_text = "the task's own"
        options = "".join(f", {name} {own_text if option == '' else option}" for name, option in one.options)
        rate = f"learning rate {one.rate:g}"
        if self.sweep is not None:
            tried = ", ".join(f"{each:g}" for each in self.sweep.rates)
            seeds = ", ".join(map(str, self.sweep.pilot_seeds))
            rate = f"learning rate of each encoding the best of {tried} on the pilot seeds {seeds}"
        return (
            f"{one.task}: {one.model}, width {one.width}, {one.layers} layers, {one.heads} heads; {one.steps} steps of "
            f"{one.batch} sequences, trained at {one.length}; {rate}{own}; positions "
            f"{one.positions}{options}; seeds {', '.join(map(str, self.seeds))}"
            + (f"; runs of several versions: {mixed}" if mixed else "")
        )


def candidate_name(experiment: Experiment) -> str:
    """Name of a candidate: its encoding, with the multiple of its parameters' rate where that is not 1.

    Example:
        >>> candidate_name(Experiment("Learned(dim=64, length=32)", "copy", encoding_rate=10.0))
        'Learned(dim=64, length=32) ×10'
    """
    multiple = experiment.encoding_rate
    return experiment.encoding if multiple == 1 else f"{experiment.encoding} ×{multiple:g}"


def common(experiment: Experiment, sweep: RateSweep | None = None) -> Experiment:
    """The experiment without its encoding, its encoding's rate and its seed, and without its rate if that was swept."""
    rate = experiment.rate if sweep is None else sweep.rates[0]
    return dataclasses.replace(experiment, encoding=ANY, encoding_rate=1.0, seed=0, rate=rate)


def settings(
    results: Iterable[Result], metric_of: Mapping[str, Metric], sweep: RateSweep | None = None
) -> tuple[Setting, ...]:
    """Gather results into settings, in the order in which they come.

    Args:
        results: Of any experiments.
        metric_of: What each task is scored by.
        sweep: How the learning rate of each candidate was chosen; None where all of a setting have one.

    Returns:
        The settings.
    """
    gathered: dict[Experiment, dict[str, dict[int, Result]]] = {}
    for result in results:
        names = gathered.setdefault(common(result.experiment, sweep), {})
        names.setdefault(candidate_name(result.experiment), {})[result.experiment.seed] = result
    return tuple(Setting(shared, metric_of[shared.task], names, sweep) for shared, names in gathered.items())
