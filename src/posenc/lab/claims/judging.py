"""Decision rule of every trained claim, and the runs that they share. Loads no torch.

Numbers of several seeds must exceed a margin that was fixed beforehand. A claim is supported if the whole interval of
the mean lies above the margin, contradicted if it lies below, and else undecided, with the smallest distance from the
margin that these seeds could have seen. The intervals are Student's at 99.75 %: one in twenty is the chance that any of
twenty claims is wrong (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev

from posenc.lab.claims.claim import Claim, ClaimFinding, Word
from posenc.lab.comparison.setting import metric_value
from posenc.lab.experiment import Experiment
from posenc.lab.result import Result
from posenc.lab.statistics import smallest_visible, student_interval
from posenc.lab.tasks.task_table import experiment

LEVEL = 0.05 / 20
Numbers = Mapping[int, float]
Measured = Callable[[Result], float]
#: A number for each seed, of finished runs.
OfResults = Callable[[Sequence[Result]], Numbers]
#: What is trained for a rule, by task, at the budgets below.
SETUPS = {
    "character-lm": "A decoder of 0.1 million parameters reads characters of English, 300 steps of 16 windows of 64",
    "fixed-offset": "An encoder of 0.1 million parameters says which token stands three places back, 150 steps of 32 "
    "sequences of 32",
    "cued-offset": "An encoder of 0.1 million parameters says which token stands as many places back as a cue says, "
    "500 steps of 32 sequences of 32",
    "absolute-index": "An encoder of 0.1 million parameters says which token stands at the index that a cue names, "
    "500 steps of 32 sequences of 32",
    "translation": "An encoder-decoder of 0.2 million parameters translates a made language whose words change their "
    "order, 500 steps of 32 sentences",
}
RULE = (
    "Supported if the 99.75 % Student interval over the seeds lies above the margin, contradicted if below, else "
    "undecided."
)
NONE, SINUSOIDAL, ROTARY, ALIBI = "NoPE(dim=64)", "Sinusoidal(dim=64)", "RoPE(dim=16)", "ALiBi(heads=4)"
#: What learns does so at ten times the model's rate: at 1, tables hardly move in a short training.
RATE = 10.0
#: Seeds of a claim, and of one whose sides lie close.
FIVE, EIGHT = range(5), range(8)


def trained(
    *,
    statement: str,
    sources: tuple[str, ...],
    rule: str,
    experiments: tuple[Experiment, ...],
    numbers: Mapping[str, OfResults],
    margin: float,
    note: str,
    reported: Mapping[str, OfResults] | None = None,
) -> Claim:
    """A claim that each of some numbers of finished runs is larger than the margin.

    Args:
        statement: In our words.
        sources: The documents that say so.
        rule: The end of the rule, behind its setup.
        experiments: The runs, all of one task.
        numbers: By name, a number for each seed.
        margin: Each number must exceed it.
        note: What the figures mean.
        reported: Numbers whose means are shown, but not judged.

    Returns:
        The claim.
    """

    def decide(results: Sequence[Result]) -> ClaimFinding:
        finding = exceeds({name: of_results(results) for name, of_results in numbers.items()}, margin, note)
        means = [(name, fmean(of_results(results).values())) for name, of_results in (reported or {}).items()]
        return replace(finding, figures=(*finding.figures, *means))

    return Claim(statement, sources, f"{SETUPS[experiments[0].task]}: {rule} {RULE}", decide, experiments)


def of(encoding: str, measured: Measured) -> OfResults:
    """A number of an encoding, by seed."""
    return lambda results: by_seed(results, encoding, measured)


def gain(better: str, than: str, measured: Measured) -> OfResults:
    """Difference of a number between two encodings, seed by seed."""

    def gains(results: Sequence[Result]) -> Numbers:
        first, second = by_seed(results, better, measured), by_seed(results, than, measured)
        return {seed: first[seed] - second[seed] for seed in first if seed in second}

    return gains


def by_seed(results: Sequence[Result], encoding: str, measured: Measured) -> dict[int, float]:
    """A number of each seed of an encoding.

    Raises:
        ValueError: The encoding was not run.
    """
    numbers = {each.experiment.seed: measured(each) for each in results if each.experiment.encoding == encoding}
    if not numbers:
        raise ValueError(f"encoding must be one that was run; got {encoding}. Choose one of the claim's.")
    return numbers


def exceeds(numbers: Mapping[str, Numbers], margin: float, note: str) -> ClaimFinding:
    """Decide whether each of some numbers is larger than the margin.

    Several numbers: supported if each is, contradicted if any is.

    Args:
        numbers: By name, a number for each seed.
        margin: To be exceeded.
        note: What the figures mean.

    Returns:
        The finding.

    Example:
        >>> exceeds({"gain": {0: 0.5, 1: 0.6, 2: 0.55, 3: 0.5, 4: 0.6}}, 0.1, "It helps.").verdict
        'supported'
    """
    figures: dict[str, float] = {}
    verdicts: list[Word] = []
    for name, of_seeds in numbers.items():
        sample = list(of_seeds.values())
        interval = student_interval(sample, 1 - LEVEL)
        verdicts.append(
            "supported" if interval.low > margin else "contradicted" if interval.high < margin else "undecided"
        )
        figures |= {name: interval.mean, f"{name}, from": interval.low, f"{name}, to": interval.high}
        if verdicts[-1] == "undecided":
            figures[f"{name}, smallest visible"] = smallest_visible(stdev(sample), len(sample), LEVEL)
    verdict: Word = (
        "contradicted" if "contradicted" in verdicts else "undecided" if "undecided" in verdicts else "supported"
    )
    figures |= {"margin": margin, "seeds": min(map(len, numbers.values()))}
    return ClaimFinding(
        verdict, tuple(figures.items()), note, tuple((name, tuple(by.items())) for name, by in numbers.items())
    )


def learned_table(rows: int) -> str:
    """A learned table with a row for each position of training. Beyond it, its last row is used."""
    return f"Learned(dim=64, length={rows}, outside='clamp')"


def hybrid(rows: int) -> str:
    """The sum of a sinusoidal and a learned table."""
    return f"Sum((Sinusoidal(dim=64), {learned_table(rows)}))"


def runs(task: str, encodings: tuple[str, ...], seeds: range = FIVE) -> tuple[Experiment, ...]:
    """Runs of a task at the claims' budget, those of the first seed first."""
    return tuple(
        experiment(encoding, task, seed, encoding_rate=_rate(encoding), **BUDGETS.get(task, {}))
        for seed in seeds
        for encoding in encodings
    )


def accuracy_at(length: int) -> Measured:
    """Accuracy at a test length."""
    return lambda result: result.at(length).accuracy


def loss_at(length: int) -> Measured:
    """Held-out loss at a test length."""
    return lambda result: result.at(length).loss


def bleu_at(length: int) -> Measured:
    """BLEU at a test length."""
    return lambda result: metric_value(result.at(length), "bleu")


def _rate(encoding: str) -> float:
    return RATE if "Learned" in encoding or "T5" in encoding else 1.0


#: Fields of experiments that differ from the task's own.
BUDGETS: dict[str, dict[str, object]] = {
    "character-lm": {"steps": 300, "batch": 16, "test_lengths": (64, 256)},
    "cued-offset": {"steps": 500},
    "absolute-index": {"steps": 500},
    "translation": {"steps": 500},
    "summary": {"steps": 500},
}
