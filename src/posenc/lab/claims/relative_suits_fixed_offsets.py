"""A fixed distance: rotary and sinusoidal."""

from __future__ import annotations

from posenc.lab.claims.judging import gain, trained
from posenc.lab.claims.recipes import ROTARY, SINUSOIDAL, runs

CLAIM = trained(
    statement="Relative encodings do better on tasks that depend on the distance between tokens.",
    sources=("lecture", "lesson"),
    rule="the accuracy with rotary exceeds that with sinusoidal by more than 0.05, at 32 and at 128.",
    experiments=runs("fixed-offset", (SINUSOIDAL, ROTARY)),
    numbers={
        "at 32": gain(ROTARY, SINUSOIDAL, lambda result: result.at(32).accuracy),
        "at 128": gain(ROTARY, SINUSOIDAL, lambda result: result.at(128).accuracy),
    },
    margin=0.05,
    note="Accuracy with rotary minus accuracy with sinusoidal, at the trained length and at four times as much.",
)
