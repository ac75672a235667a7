"""Longer than trained: relative and absolute."""

from __future__ import annotations

from collections.abc import Sequence

from posenc.lab.claims.claim import Claim, Finding, Trained
from posenc.lab.claims.judging import RULE, advantage, exceeds
from posenc.lab.claims.recipes import ALIBI, ROTARY, SINUSOIDAL, runs
from posenc.lab.result import Result

ENCODINGS = (SINUSOIDAL, ROTARY, ALIBI)


def decide(results: Sequence[Result]) -> Finding:
    gains = {
        name: advantage(results, SINUSOIDAL, encoding, lambda result: result.at(256).loss)
        for name, encoding in (("rotary", ROTARY), ("ALiBi", ALIBI))
    }
    return exceeds(
        gains, 0.02, "Held-out loss at four times the trained length, sinusoidal minus each relative encoding."
    )


CLAIM = Claim(
    statement="Relative encodings improve performance on long sequences.",
    sources=("lesson",),
    rule=(
        "A decoder of 0.1 million parameters reads characters of English, 300 steps of 16 windows of 64: "
        "the held-out loss at 256 falls by more than 0.02 nats from sinusoidal to rotary and to ALiBi."
    )
    + " "
    + RULE,
    evidence=Trained(runs("character-lm", ENCODINGS), decide),
)
