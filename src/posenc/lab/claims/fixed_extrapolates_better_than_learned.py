"""Longer than trained: sinusoidal and learned."""

from __future__ import annotations

from posenc.lab.claims.judging import gain, trained
from posenc.lab.claims.recipes import SINUSOIDAL, learned_table, runs

CLAIM = trained(
    statement="Fixed encodings extend to longer sequences better than learned ones.",
    sources=("lecture", "lesson"),
    rule=(
        "the held-out loss at 256 with a learned table of 64 rows (the last used beyond) minus that with sinusoidal "
        "exceeds 0.02 nats."
    ),
    experiments=runs("character-lm", (SINUSOIDAL, learned_table(64))),
    numbers={"learned - sinusoidal, nats": gain(learned_table(64), SINUSOIDAL, lambda result: result.at(256).loss)},
    margin=0.02,
    note=(
        "Held-out loss at four times the trained length, learned table (clamped) minus sinusoidal: negative, so the "
        "learned one does better. At this short budget neither model uses its positions much, and clamping adds "
        "nothing new beyond the table, while sinusoids go on to unseen values."
    ),
)
