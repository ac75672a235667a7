"""Language modelling with and without an encoding."""

from __future__ import annotations

from collections.abc import Sequence

from posenc.lab.claims.claim import Claim, Finding, Trained
from posenc.lab.claims.judging import RULE, advantage, exceeds
from posenc.lab.claims.recipes import NONE, ROTARY, SINUSOIDAL, runs
from posenc.lab.result import Result

ENCODINGS = (NONE, SINUSOIDAL, ROTARY)


def decide(results: Sequence[Result]) -> Finding:
    gains = {
        name: advantage(results, NONE, encoding, lambda result: result.at(64).loss)
        for name, encoding in (("sinusoidal", SINUSOIDAL), ("rotary", ROTARY))
    }
    return exceeds(
        gains,
        0.02,
        "Held-out loss at the trained length without an encoding minus that with one. The mask of a decoder "
        "tells it something of order; this is what an encoding adds.",
    )


CLAIM = Claim(
    statement="Positional encoding improves language models.",
    sources=("lecture",),
    rule=(
        "A decoder of 0.1 million parameters reads characters of English, 300 steps of 16 windows of 64: "
        "the held-out loss at 64 falls by more than 0.02 nats with a sinusoidal and with a rotary "
        "encoding."
    )
    + " "
    + RULE,
    evidence=Trained(runs("character-lm", ENCODINGS), decide),
)
