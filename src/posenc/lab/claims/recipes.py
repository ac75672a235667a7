"""The runs that trained claims share: equal runs are done once for all of them. Loads no torch."""

from __future__ import annotations

from posenc.lab.claims.judging import Measured
from posenc.lab.comparison.measures import metric_value
from posenc.lab.experiment import Experiment
from posenc.lab.tasks.task_table import experiment

NONE, SINUSOIDAL, ROTARY, ALIBI = "NoPE(dim=64)", "Sinusoidal(dim=64)", "RoPE(dim=16)", "ALiBi(heads=4)"
#: What learns does so at ten times the model's rate: at 1, tables hardly move in a short training.
RATE = 10.0
#: Seeds of a claim, and of one whose sides lie close.
FIVE, EIGHT = range(5), range(8)


def learned_table(rows: int) -> str:
    """A learned table with a row for each position of training; beyond it, its last row is used."""
    return f"Learned(dim=64, length={rows}, outside='clamp')"


def hybrid(rows: int) -> str:
    """The sum of a sinusoidal and a learned table."""
    return f"Sum((Sinusoidal(dim=64), {learned_table(rows)}))"


def runs(task: str, encodings: tuple[str, ...], seeds: range = FIVE) -> tuple[Experiment, ...]:
    """Runs of a task at the claims' budget."""
    return tuple(
        experiment(encoding, task, seed, encoding_rate=_rate(encoding), **BUDGETS.get(task, {}))
        for seed in seeds
        for encoding in encodings
    )


def bleu_at(length: int) -> Measured:
    """BLEU at a test length."""
    return lambda result: metric_value(result.at(length), "bleu")


def _rate(encoding: str) -> float:
    return RATE if "Learned" in encoding or "T5" in encoding else 1.0


#: Where it is not the task's own.
BUDGETS: dict[str, dict[str, object]] = {
    "character-lm": {"steps": 300, "batch": 16, "test_lengths": (64, 256)},
    "cued-offset": {"steps": 500},
    "absolute-index": {"steps": 500},
    "translation": {"steps": 500},
    "summary": {"steps": 500},
}
