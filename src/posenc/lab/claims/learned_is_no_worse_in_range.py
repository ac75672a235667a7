"""At trained lengths: learned and sinusoidal."""

from __future__ import annotations

from collections.abc import Sequence

from posenc.lab.claims.claim import Claim, Finding, Trained
from posenc.lab.claims.judging import RULE, advantage, exceeds
from posenc.lab.claims.recipes import SINUSOIDAL, learned, runs
from posenc.lab.result import Result

ENCODINGS = (SINUSOIDAL, learned(64))


def decide(results: Sequence[Result]) -> Finding:
    gain = advantage(results, SINUSOIDAL, learned(64), lambda result: result.at(64).loss)
    return exceeds(
        {"sinusoidal - learned, nats": gain}, -0.02, "Held-out loss at the trained length, sinusoidal minus learned."
    )


CLAIM = Claim(
    statement="Learned encodings are flexible: within trained lengths they do as well as fixed ones.",
    sources=("lecture", "lesson"),
    rule=(
        "A decoder of 0.1 million parameters reads characters of English, 300 steps of 16 windows of 64: "
        "the held-out loss at 64 with a learned table is less than 0.02 nats above that with sinusoidal."
    )
    + " "
    + RULE,
    evidence=Trained(runs("character-lm", ENCODINGS), decide),
)
