"""Translation with and without an encoding."""

from __future__ import annotations

from posenc.lab.claims.judging import gain, trained
from posenc.lab.claims.recipes import NONE, SINUSOIDAL, bleu_at, runs

CLAIM = trained(
    statement="Positional encoding improves translation.",
    sources=("lecture",),
    rule="BLEU with sinusoidal exceeds BLEU without an encoding by more than 1.",
    experiments=runs("translation", (NONE, SINUSOIDAL)),
    numbers={"BLEU, sinusoidal - none": gain(SINUSOIDAL, NONE, bleu_at(2))},
    margin=1.0,
    note="BLEU of sentences of two clauses, the longest of training.",
)
