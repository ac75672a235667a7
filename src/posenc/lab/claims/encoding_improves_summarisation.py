"""Summaries with and without an encoding."""

from __future__ import annotations

from collections.abc import Sequence

from posenc.lab.claims.claim import Claim, Finding, Trained
from posenc.lab.claims.judging import RULE, advantage, exceeds
from posenc.lab.claims.recipes import NONE, SINUSOIDAL, runs
from posenc.lab.result import Result

ENCODINGS = (NONE, SINUSOIDAL)


def decide(results: Sequence[Result]) -> Finding:
    gain = advantage(results, SINUSOIDAL, NONE, lambda result: result.at(4).bleu or 0.0)
    return exceeds(
        {"BLEU, sinusoidal - none": gain}, 1.0, "BLEU against the reference summaries of made texts of four sentences."
    )


CLAIM = Claim(
    statement="Positional encoding improves summarisation.",
    sources=("lecture",),
    rule=(
        "An encoder-decoder of 0.2 million parameters summarises made texts, 500 steps of 32 texts of "
        "four sentences: BLEU with sinusoidal exceeds BLEU without an encoding by more than 1."
    )
    + " "
    + RULE,
    evidence=Trained(runs("summary", ENCODINGS), decide),
)
