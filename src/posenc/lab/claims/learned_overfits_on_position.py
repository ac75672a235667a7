"""The gap between training and held-out loss."""

from __future__ import annotations

from collections.abc import Sequence

from posenc.lab.claims.claim import Claim, Finding, Trained
from posenc.lab.claims.judging import RULE, advantage, exceeds
from posenc.lab.claims.recipes import SINUSOIDAL, learned, runs
from posenc.lab.result import Result

ENCODINGS = (SINUSOIDAL, learned(64))


def decide(results: Sequence[Result]) -> Finding:
    def gap(result: Result) -> float:
        last = [point.loss for point in result.curve[-10:]]
        return result.at(64).loss - sum(last) / len(last)

    gain = advantage(results, learned(64), SINUSOIDAL, gap)
    return exceeds(
        {"gap of learned - gap of sinusoidal": gain},
        0.02,
        "The gap is held-out loss minus the loss of the last 100 steps of training; what a learned table adds to it.",
    )


CLAIM = Claim(
    statement="A fixed encoding avoids overfitting on position, to which learned ones are prone.",
    sources=("lecture",),
    rule=(
        "A decoder of 0.1 million parameters reads characters of English, 300 steps of 16 windows of 64: "
        "held-out loss minus training loss is larger by more than 0.02 nats with a learned table than "
        "with sinusoidal."
    )
    + " "
    + RULE,
    evidence=Trained(runs("character-lm", ENCODINGS), decide),
)
