"""A distance that the content names: rotary and sinusoidal."""

from __future__ import annotations

from posenc.lab.claims.judging import gain, trained
from posenc.lab.claims.recipes import ROTARY, SINUSOIDAL, runs

CLAIM = trained(
    statement="Relative encodings let a model learn relations at a distance more easily.",
    sources=("lecture", "article"),
    rule=(
        "An encoder of 0.1 million parameters says which token stands as many places back as a cue says, "
        "500 steps of 32 sequences of 32: the accuracy at 32 with rotary exceeds that with sinusoidal by "
        "more than 0.05."
    ),
    experiments=runs("cued-offset", (SINUSOIDAL, ROTARY)),
    numbers={"rotary - sinusoidal": gain(ROTARY, SINUSOIDAL, lambda result: result.at(32).accuracy)},
    margin=0.05,
    note="Accuracy at the trained length with rotary minus that with sinusoidal.",
)
