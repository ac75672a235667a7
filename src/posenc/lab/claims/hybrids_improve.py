"""Fixed plus learned."""

from __future__ import annotations

from posenc.lab.claims.judging import gain, trained
from posenc.lab.claims.recipes import SINUSOIDAL, hybrid, learned_table, runs

CLAIM = trained(
    statement="Hybrids of fixed and learned encodings improve on both.",
    sources=("lecture",),
    rule=(
        "the accuracy at 32 with the sum of a sinusoidal and a learned table exceeds that of each alone by more than "
        "0.02."
    ),
    experiments=runs("absolute-index", (SINUSOIDAL, learned_table(32), hybrid(32))),
    numbers={
        "hybrid - sinusoidal": gain(hybrid(32), SINUSOIDAL, lambda result: result.at(32).accuracy),
        "hybrid - learned": gain(hybrid(32), learned_table(32), lambda result: result.at(32).accuracy),
    },
    margin=0.02,
    note="Accuracy at the trained length of the sum of both tables minus that of each alone.",
)
