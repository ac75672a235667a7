"""An index from the start: learned, sinusoidal and rotary."""

from __future__ import annotations

from posenc.lab.claims.judging import gain, trained
from posenc.lab.claims.recipes import ROTARY, SINUSOIDAL, learned_table, runs

CLAIM = trained(
    statement=(
        "Some tasks benefit from absolute encodings, others from relative ones: an index needs absolute positions."
    ),
    sources=("lecture",),
    rule="the accuracy at 32 with a learned table and with sinusoidal exceeds that with rotary by more than 0.05.",
    experiments=runs("absolute-index", (SINUSOIDAL, learned_table(32), ROTARY)),
    numbers={
        "learned - rotary": gain(learned_table(32), ROTARY, lambda result: result.at(32).accuracy),
        "sinusoidal - rotary": gain(SINUSOIDAL, ROTARY, lambda result: result.at(32).accuracy),
    },
    margin=0.05,
    note="Accuracy at the trained length with each absolute encoding minus that with rotary.",
)
