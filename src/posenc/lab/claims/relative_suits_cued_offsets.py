"""A distance that the content names: rotary and sinusoidal."""

from __future__ import annotations

from posenc.lab.claims.judging import gain, trained
from posenc.lab.claims.recipes import ROTARY, SINUSOIDAL, runs

CLAIM = trained(
    statement="Relative encodings let a model learn relations at a distance more easily.",
    sources=("lecture", "article"),
    rule="the accuracy at 32 with rotary exceeds that with sinusoidal by more than 0.05.",
    experiments=runs("cued-offset", (SINUSOIDAL, ROTARY)),
    numbers={"rotary - sinusoidal": gain(ROTARY, SINUSOIDAL, lambda result: result.at(32).accuracy)},
    margin=0.05,
    note="Accuracy at the trained length with rotary minus that with sinusoidal.",
)
