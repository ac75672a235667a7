"""An index from the start: learned, sinusoidal and rotary."""

from __future__ import annotations

from collections.abc import Sequence

from posenc.lab.claims.claim import Claim, Finding, Trained
from posenc.lab.claims.judging import RULE, advantage, exceeds
from posenc.lab.claims.recipes import ROTARY, SINUSOIDAL, learned, runs
from posenc.lab.result import Result

ENCODINGS = (SINUSOIDAL, learned(32), ROTARY)


def decide(results: Sequence[Result]) -> Finding:
    gains = {
        name: advantage(results, encoding, ROTARY, lambda result: result.at(32).accuracy)
        for name, encoding in (("learned - rotary", learned(32)), ("sinusoidal - rotary", SINUSOIDAL))
    }
    return exceeds(gains, 0.05, "Accuracy at the trained length with each absolute encoding minus that with rotary.")


CLAIM = Claim(
    statement=(
        "Some tasks benefit from absolute encodings, others from relative ones: an index needs absolute positions."
    ),
    sources=("lecture",),
    rule=(
        "An encoder of 0.1 million parameters says which token stands at the index that a cue names, 500 "
        "steps of 32 sequences of 32: the accuracy at 32 with a learned table and with sinusoidal "
        "exceeds that with rotary by more than 0.05."
    )
    + " "
    + RULE,
    evidence=Trained(runs("absolute-index", ENCODINGS), decide),
)
