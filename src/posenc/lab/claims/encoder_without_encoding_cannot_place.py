"""A task of order without an encoding."""

from __future__ import annotations

from posenc.lab.claims.judging import of, trained
from posenc.lab.claims.recipes import NONE, runs

CLAIM = trained(
    statement="Self-attention without an encoding cannot solve tasks that depend on order.",
    sources=("lecture", "article", "lesson", "notes"),
    rule="without an encoding the accuracy stays below 0.2.",
    experiments=runs("fixed-offset", (NONE,)),
    numbers={"0.2 minus accuracy": of(NONE, lambda result: 0.2 - result.at(32).accuracy)},
    margin=0.0,
    note="By chance the accuracy is about 0.06.",
)
