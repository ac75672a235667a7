"""Longer than trained: sinusoidal."""

from __future__ import annotations

from posenc.lab.claims.judging import of, trained
from posenc.lab.claims.recipes import SINUSOIDAL, runs

CLAIM = trained(
    statement="Fixed sinusoidal encoding extends to sequences longer than those of training.",
    sources=("lecture", "lesson", "chapter"),
    rule="the held-out loss at 256 is at most 0.1 nats above that at 64.",
    experiments=runs("character-lm", (SINUSOIDAL,)),
    numbers={"loss at 64 minus loss at 256": of(SINUSOIDAL, lambda result: result.at(64).loss - result.at(256).loss)},
    margin=-0.1,
    note=(
        "Held-out loss at the trained length minus that at four times as much: negative is what the longer context "
        "costs. At this short budget the model has hardly begun to use its positions, and still loses where they are "
        "new."
    ),
)
