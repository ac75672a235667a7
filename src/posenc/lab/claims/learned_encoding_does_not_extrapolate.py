"""Longer than trained: a learned table."""

from __future__ import annotations

from posenc.lab.claims.judging import of, trained
from posenc.lab.claims.recipes import learned_table, runs

CLAIM = trained(
    statement="Learned encoding does not extend to sequences longer than those of training.",
    sources=("lecture", "lesson"),
    rule=(
        "with a table of 64 rows whose last is used beyond, the held-out loss at 256 is more than 0.1 nats above that "
        "at 64."
    ),
    experiments=runs("character-lm", (learned_table(64),)),
    numbers={
        "loss at 256 minus loss at 64": of(learned_table(64), lambda result: result.at(256).loss - result.at(64).loss)
    },
    margin=0.1,
    note=(
        "The table has 64 rows, and its last one stands for every later position: without such a rule it could not be "
        "asked at all."
    ),
)
