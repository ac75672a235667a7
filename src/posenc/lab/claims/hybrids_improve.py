"""Fixed plus learned."""

from __future__ import annotations

from collections.abc import Sequence

from posenc.lab.claims.claim import Claim, Finding, Trained
from posenc.lab.claims.judging import RULE, advantage, exceeds
from posenc.lab.claims.recipes import SINUSOIDAL, hybrid, learned, runs
from posenc.lab.result import Result

ENCODINGS = (SINUSOIDAL, learned(32), hybrid(32))


def decide(results: Sequence[Result]) -> Finding:
    gains = {
        name: advantage(results, hybrid(32), encoding, lambda result: result.at(32).accuracy)
        for name, encoding in (("hybrid - sinusoidal", SINUSOIDAL), ("hybrid - learned", learned(32)))
    }
    return exceeds(gains, 0.02, "Accuracy at the trained length of the sum of both tables minus that of each alone.")


CLAIM = Claim(
    statement="Hybrids of fixed and learned encodings improve on both.",
    sources=("lecture",),
    rule=(
        "An encoder of 0.1 million parameters says which token stands at the index that a cue names, 500 "
        "steps of 32 sequences of 32: the accuracy at 32 with the sum of a sinusoidal and a learned "
        "table exceeds that of each alone by more than 0.02."
    )
    + " "
    + RULE,
    evidence=Trained(runs("absolute-index", ENCODINGS), decide),
)
