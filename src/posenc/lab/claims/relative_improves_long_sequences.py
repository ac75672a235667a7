"""Longer than trained: relative and absolute."""

from __future__ import annotations

from posenc.lab.claims.judging import gain, trained
from posenc.lab.claims.recipes import ALIBI, ROTARY, SINUSOIDAL, runs

CLAIM = trained(
    statement="Relative encodings improve performance on long sequences.",
    sources=("lesson",),
    rule="the held-out loss at 256 falls by more than 0.02 nats from sinusoidal to rotary and to ALiBi.",
    experiments=runs("character-lm", (SINUSOIDAL, ROTARY, ALIBI)),
    numbers={
        "rotary": gain(SINUSOIDAL, ROTARY, lambda result: result.at(256).loss),
        "ALiBi": gain(SINUSOIDAL, ALIBI, lambda result: result.at(256).loss),
    },
    margin=0.02,
    note="Held-out loss at four times the trained length, sinusoidal minus each relative encoding.",
)
