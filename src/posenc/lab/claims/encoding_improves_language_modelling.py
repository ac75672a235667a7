"""Language modelling with and without an encoding."""

from __future__ import annotations

from posenc.lab.claims.judging import gain, trained
from posenc.lab.claims.recipes import NONE, ROTARY, SINUSOIDAL, runs

CLAIM = trained(
    statement="Positional encoding improves language models.",
    sources=("lecture",),
    rule="the held-out loss at 64 falls by more than 0.02 nats with a sinusoidal and with a rotary encoding.",
    experiments=runs("character-lm", (NONE, SINUSOIDAL, ROTARY)),
    numbers={
        "sinusoidal": gain(NONE, SINUSOIDAL, lambda result: result.at(64).loss),
        "rotary": gain(NONE, ROTARY, lambda result: result.at(64).loss),
    },
    margin=0.02,
    note=(
        "Held-out loss at the trained length without an encoding minus that with one. The mask of a decoder tells it "
        "something of order; this is what an encoding adds."
    ),
)
