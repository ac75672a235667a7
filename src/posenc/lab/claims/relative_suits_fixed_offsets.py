"""A fixed distance: rotary and sinusoidal."""

from __future__ import annotations

from collections.abc import Sequence

from posenc.lab.claims.claim import Claim, Finding, Trained
from posenc.lab.claims.judging import RULE, advantage, exceeds
from posenc.lab.claims.recipes import ROTARY, SINUSOIDAL, runs
from posenc.lab.result import Result

ENCODINGS = (SINUSOIDAL, ROTARY)


def decide(results: Sequence[Result]) -> Finding:
    gains = {
        "at 32": advantage(results, ROTARY, SINUSOIDAL, lambda result: result.at(32).accuracy),
        "at 128": advantage(results, ROTARY, SINUSOIDAL, lambda result: result.at(128).accuracy),
    }
    return exceeds(
        gains,
        0.05,
        "Accuracy with rotary minus accuracy with sinusoidal, at the trained length and at four times as much.",
    )


CLAIM = Claim(
    statement="Relative encodings do better on tasks that depend on the distance between tokens.",
    sources=("lecture", "lesson"),
    rule=(
        "An encoder of 0.1 million parameters says which token stands three places back, 150 steps of 32 "
        "sequences of 32: the accuracy with rotary exceeds that with sinusoidal by more than 0.05, at 32 "
        "and at 128."
    )
    + " "
    + RULE,
    evidence=Trained(runs("fixed-offset", ENCODINGS), decide),
)
