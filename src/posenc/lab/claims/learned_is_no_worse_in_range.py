"""At trained lengths: learned and sinusoidal."""

from __future__ import annotations

from posenc.lab.claims.judging import gain, trained
from posenc.lab.claims.recipes import SINUSOIDAL, learned_table, runs

CLAIM = trained(
    statement="Learned encodings are flexible: within trained lengths they do as well as fixed ones.",
    sources=("lecture", "lesson"),
    rule="the held-out loss at 64 with a learned table is less than 0.02 nats above that with sinusoidal.",
    experiments=runs("character-lm", (SINUSOIDAL, learned_table(64))),
    numbers={"sinusoidal - learned, nats": gain(SINUSOIDAL, learned_table(64), lambda result: result.at(64).loss)},
    margin=-0.02,
    note="Held-out loss at the trained length, sinusoidal minus learned.",
)
