"""A task of order without an encoding."""

from __future__ import annotations

from collections.abc import Sequence

from posenc.lab.claims.claim import Claim, Finding, Trained
from posenc.lab.claims.judging import RULE, by_seed, exceeds
from posenc.lab.claims.recipes import NONE, runs
from posenc.lab.result import Result

ENCODINGS = (NONE,)


def decide(results: Sequence[Result]) -> Finding:
    missing = by_seed(results, NONE, lambda result: 0.2 - result.at(32).accuracy)
    return exceeds({"0.2 minus accuracy": missing}, 0.0, "By chance the accuracy is about 0.06.")


CLAIM = Claim(
    statement="Self-attention without an encoding cannot solve tasks that depend on order.",
    sources=("lecture", "article", "lesson", "notes"),
    rule=(
        "An encoder of 0.1 million parameters says which token stands three places back, 150 steps of 32 "
        "sequences of 32: without an encoding the accuracy stays below 0.2."
    )
    + " "
    + RULE,
    evidence=Trained(runs("fixed-offset", ENCODINGS), decide),
)
