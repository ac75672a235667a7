"""Translation with and without an encoding."""

from __future__ import annotations

from collections.abc import Sequence

from posenc.lab.claims.claim import Claim, Finding, Trained
from posenc.lab.claims.judging import RULE, advantage, exceeds
from posenc.lab.claims.recipes import NONE, SINUSOIDAL, bleu_at, runs
from posenc.lab.result import Result

ENCODINGS = (NONE, SINUSOIDAL)


def decide(results: Sequence[Result]) -> Finding:
    gain = advantage(results, SINUSOIDAL, NONE, bleu_at(2))
    return exceeds({"BLEU, sinusoidal - none": gain}, 1.0, "BLEU of sentences of two clauses, the longest of training.")


CLAIM = Claim(
    statement="Positional encoding improves translation.",
    sources=("lecture",),
    rule=(
        "An encoder-decoder of 0.2 million parameters translates a made language whose words change their order, "
        "500 steps of 32 sentences: BLEU with sinusoidal exceeds BLEU without an encoding by more than 1."
    )
    + " "
    + RULE,
    evidence=Trained(runs("translation", ENCODINGS), decide),
)
