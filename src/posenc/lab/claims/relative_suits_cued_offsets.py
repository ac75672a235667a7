"""A distance that the content names: rotary and sinusoidal."""

from __future__ import annotations

from collections.abc import Sequence

from posenc.lab.claims.claim import Claim, Finding, Trained
from posenc.lab.claims.judging import RULE, advantage, exceeds
from posenc.lab.claims.recipes import ROTARY, SINUSOIDAL, runs
from posenc.lab.result import Result

ENCODINGS = (SINUSOIDAL, ROTARY)


def decide(results: Sequence[Result]) -> Finding:
    gain = advantage(results, ROTARY, SINUSOIDAL, lambda result: result.at(32).accuracy)
    return exceeds(
        {"rotary - sinusoidal": gain}, 0.05, "Accuracy at the trained length with rotary minus that with sinusoidal."
    )


CLAIM = Claim(
    statement="Relative encodings let a model learn relations at a distance more easily.",
    sources=("lecture", "article"),
    rule=(
        "An encoder of 0.1 million parameters says which token stands as many places back as a cue says, "
        "500 steps of 32 sequences of 32: the accuracy at 32 with rotary exceeds that with sinusoidal by "
        "more than 0.05."
    )
    + " "
    + RULE,
    evidence=Trained(runs("cued-offset", ENCODINGS), decide),
)
