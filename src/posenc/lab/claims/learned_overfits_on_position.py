"""The gap between training and held-out loss."""

from __future__ import annotations

from posenc.lab.claims.judging import gain, trained
from posenc.lab.claims.recipes import SINUSOIDAL, learned_table, runs
from posenc.lab.result import Result


def gap(result: Result) -> float:
    last = [point.loss for point in result.curve[-10:]]
    return result.at(64).loss - sum(last) / len(last)


CLAIM = trained(
    statement="A fixed encoding avoids overfitting on position, to which learned ones are prone.",
    sources=("lecture",),
    rule=(
        "held-out loss minus training loss is larger by more than 0.02 nats with a learned table than with sinusoidal."
    ),
    experiments=runs("character-lm", (SINUSOIDAL, learned_table(64))),
    numbers={"gap of learned - gap of sinusoidal": gain(learned_table(64), SINUSOIDAL, gap)},
    margin=0.02,
    note="The gap is held-out loss minus the loss of the last 100 steps of training; what a learned table adds to it.",
)
