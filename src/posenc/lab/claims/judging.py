"""Decision rule of every trained claim, and the runs that they share. Imports no torch.

A claim has one or more parts, each a number of several seeds that must exceed a margin. A part is supported if the
whole interval of the mean lies above the margin, contradicted if it lies below, and else undecided, with the smallest
distance from the margin that these seeds could have seen. It is not testable where what it presupposes was not shown by
the same rule (that an encoding has any effect within the trained length, before one asks how far it carries), or where
all runs are at the ceiling or floor of their scale. The intervals are Student's at 99.875 %: one in twenty is the
chance that any of forty parts is wrong (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from posenc.lab.claims.claim import Claim, ClaimFinding, Figure, Outcome, Word, compound
from posenc.lab.claims.quantities import Gain, Numbers, Quantity, loss_at
from posenc.lab.experiment import Experiment
from posenc.lab.frequency_roles.roles import RolesStudy
from posenc.lab.statistics import smallest_visible, student_interval
from posenc.lab.tasks.task_table import experiment

LEVEL = 0.05 / 40
#: What is trained for a rule, by task, at the budgets below.
SETUPS = {
    "character-lm": "A decoder of 0.1 million parameters reads characters of English, 600 steps of 16 windows of 64",
    "fixed-offset": "An encoder of 0.1 million parameters says which token stands three places back, 150 steps of 32 "
    "sequences of 32",
    "cued-offset": "An encoder of 0.1 million parameters says which token stands as many places back as a cue says, "
    "250 steps of 32 sequences of 32",
    "absolute-index": "An encoder of 0.1 million parameters says which token stands at the index that a cue names, "
    "800 steps of 32 sequences of 32",
    "translation": "An encoder-decoder of 0.2 million parameters translates a made language whose words change their "
    "order, 500 steps of 32 sentences",
    "summary": "An encoder-decoder of 0.2 million parameters summarises made texts, 500 steps of 32 texts of one to "
    "four sentences",
}
RULE = (
    "Supported if the 99.875 % Student interval over the seeds lies above the margin, contradicted if below, else "
    "undecided."
)
NONE, SINUSOIDAL, ROTARY, ALIBI = "NoPE(dim=64)", "Sinusoidal(dim=64)", "RoPE(dim=16)", "ALiBi(heads=4)"
#: What learns does so at ten times the model's rate: at 1, tables hardly move in a short training.
RATE = 10.0
#: Seeds of every claim: none that was looked at when the rules were set.
SEEDS = range(100, 108)
#: Those of claims that came later.
FRESH = range(200, 208)
#: Fields of experiments that differ from the task's own.
BUDGETS: dict[str, dict[str, object]] = {
    "character-lm": {"steps": 600, "batch": 16, "test_lengths": (64, 256)},
    "cued-offset": {"steps": 250},
    "absolute-index": {"steps": 800},
    "translation": {"steps": 500},
    "summary": {"steps": 500},
}


@dataclass(frozen=True)
class Need:
    """A number that must be shown to exceed a margin before a part can be judged.

    Args:
        name: Of the number.
        quantity: For each seed.
        margin: To be exceeded.
    """

    name: str
    quantity: Quantity
    margin: float


@dataclass(frozen=True)
class ClaimPart:
    """A number that must exceed the margin of its claim.

    Args:
        quantity: For each seed.
        needs: What the part presupposes.
    """

    quantity: Quantity
    needs: tuple[Need, ...] = ()


def trained(
    *,
    statement: str,
    sources: tuple[str, ...],
    rule: str,
    experiments: tuple[Experiment, ...],
    parts: Mapping[str, ClaimPart],
    margin: float,
    note: str,
    studies: tuple[RolesStudy, ...] = (),
    question: str = "",
    revised: str = "",
    reported: Mapping[str, Quantity] | None = None,
) -> Claim:
    """Make a claim that training decides: each of its parts, a number per seed, must exceed the margin.

    Args:
        statement: In our words.
        sources: The documents that say so.
        rule: The end of the rule, behind its setup.
        experiments: The runs, all of one task.
        parts: By name, what must exceed the margin.
        margin: Each number must exceed it.
        note: What the figures mean.
        studies: Runs whose rotary pairs are changed.
        question: That a source asks, and to which the statement is an answer.
        revised: What was changed after results had been seen.
        reported: Numbers whose means are shown, but not judged.

    Returns:
        The claim.
    """

    def decide(results: Sequence[Outcome]) -> ClaimFinding:
        judged = {name: _judge_part(name, part, margin, results) for name, part in parts.items()}
        means = [(name, fmean(each.by_seed(results).values())) for name, each in (reported or {}).items()]
        runs = [(name, tuple(part.quantity.by_seed(results).items())) for name, part in parts.items()]
        return ClaimFinding(
            compound([word for word, _ in judged.values()]),
            (*(figure for _, figures in judged.values() for figure in figures), ("margin", margin), *means),
            note,
            tuple(runs),
            tuple((name, word) for name, (word, _) in judged.items()),
        )

    needs = list(dict.fromkeys(_need_sentence(need) for part in parts.values() for need in part.needs))
    return Claim(
        statement,
        sources,
        " ".join([f"{SETUPS[experiments[0].task]}: {rule}", *needs, RULE]),
        decide,
        experiments,
        studies,
        revised,
        question,
    )


def _need_sentence(need: Need) -> str:
    return f"Testable only if {need.name} exceeds {need.margin:g}, by the same interval."


def helps_in_range(name: str, encoding: str) -> Need:
    """Require that an encoding lowers the loss at the trained length, 64, by more than 0.02 nats against none."""
    return Need(f"what {name} gains over no encoding at 64", Gain(NONE, encoding, loss_at(64)), 0.02)


def _judge_part(name: str, part: ClaimPart, margin: float, results: Sequence[Outcome]) -> tuple[Word, list[Figure]]:
    """Verdict and figures of a part; not testable if a need is not shown, or if unsupported at an end of the scale."""
    word, figures = exceeds(name, part.quantity.by_seed(results), margin)
    if word != "supported" and part.quantity.saturation(results):
        word = "not testable"
    for need in part.needs:
        shown, more = exceeds(f"{name}, needs {need.name}", need.quantity.by_seed(results), need.margin)
        figures += more
        word = word if shown == "supported" else "not testable"
    return word, figures


def exceeds(name: str, numbers: Numbers, margin: float) -> tuple[Word, list[Figure]]:
    """Decide whether a number is larger than a margin.

    Numbers that are equal in every seed have no interval, so nothing is decided by them.

    Args:
        name: Of the number.
        numbers: For each seed.
        margin: To be exceeded.

    Returns:
        The verdict, and the figures behind it.

    Example:
        >>> exceeds("gain", dict(enumerate([0.5, 0.6, 0.55, 0.5, 0.6, 0.55])), 0.1)[0]
        'supported'
    """
    sample = list(numbers.values())
    interval, spread = student_interval(sample, 1 - LEVEL), stdev(sample)
    figures = [(name, interval.mean), (f"{name}, from", interval.low), (f"{name}, to", interval.high)]
    figures.append((f"{name}, seeds", float(len(sample))))
    if spread > 0 and interval.low > margin:
        return "supported", figures
    if spread > 0 and interval.high < margin:
        return "contradicted", figures
    if spread > 0:
        figures.append((f"{name}, smallest visible", smallest_visible(spread, len(sample), LEVEL)))
    return "undecided", figures


def learned_table(rows: int) -> str:
    """A learned table with a row for each position of training. Beyond it, its last row is used."""
    return f"Learned(dim=64, length={rows}, outside='clamp')"


def hybrid(rows: int) -> str:
    """The sum of a sinusoidal and a learned table."""
    return f"Sum((Sinusoidal(dim=64), {learned_table(rows)}))"


def runs(task: str, encodings: tuple[str, ...], seeds: Iterable[int] = SEEDS) -> tuple[Experiment, ...]:
    """Runs of a task at the claims' budget, those of the first seed first."""
    return tuple(
        experiment(encoding, task, seed, encoding_rate=_rate(encoding), **BUDGETS.get(task, {}))
        for seed in seeds
        for encoding in encodings
    )


def _rate(encoding: str) -> float:
    return RATE if "Learned" in encoding or "T5" in encoding else 1.0
