"""Longer than trained: sinusoidal and learned."""

from __future__ import annotations

from collections.abc import Sequence

from posenc.lab.claims.claim import Claim, Finding, Trained
from posenc.lab.claims.judging import RULE, advantage, exceeds
from posenc.lab.claims.recipes import SINUSOIDAL, learned, runs
from posenc.lab.result import Result

ENCODINGS = (SINUSOIDAL, learned(64))


def decide(results: Sequence[Result]) -> Finding:
    gain = advantage(results, learned(64), SINUSOIDAL, lambda result: result.at(256).loss)
    return exceeds(
        {"learned - sinusoidal, nats": gain},
        0.02,
        "Held-out loss at four times the trained length, learned table "
        "(clamped) minus sinusoidal: negative, so the learned one does better. At this short budget neither model "
        "uses its positions much, and clamping adds nothing new beyond the table, while sinusoids go on to unseen "
        "values.",
    )


CLAIM = Claim(
    statement="Fixed encodings extend to longer sequences better than learned ones.",
    sources=("lecture", "lesson"),
    rule=(
        "A decoder of 0.1 million parameters reads characters of English, 300 steps of 16 windows of 64: "
        "the held-out loss at 256 with a learned table of 64 rows (the last used beyond) minus that with "
        "sinusoidal exceeds 0.02 nats."
    )
    + " "
    + RULE,
    evidence=Trained(runs("character-lm", ENCODINGS), decide),
)
