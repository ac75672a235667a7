"""The base of a rotary encoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from posenc.lab.claims.claim import ClaimFinding
from posenc.lab.claims.judging import by_seed, gain, trained
from posenc.lab.claims.recipes import ROTARY, runs
from posenc.lab.result import Result

SMALL, LARGE = "RoPE(dim=16, base=100.0)", "RoPE(dim=16, base=1000000.0)"
ENCODINGS = (ROTARY, SMALL, LARGE)

AT_TRAINED_LENGTH = trained(
    statement="The base decides how well a model learns: for short distances, a smaller one is better.",
    sources=("lecture",),
    rule="the accuracy at 32 falls by more than 0.02 from base 100 to 10,000, and from there to 1,000,000.",
    experiments=runs("cued-offset", ENCODINGS),
    numbers={
        "base 100 - base 10,000": gain(SMALL, ROTARY, lambda result: result.at(32).accuracy),
        "base 10,000 - base 1,000,000": gain(ROTARY, LARGE, lambda result: result.at(32).accuracy),
    },
    margin=0.02,
    note=(
        "All three bases answer everything at the trained length, so there they cannot differ. At four times the "
        "length, which the rule does not judge, they do: a smaller base keeps more of its accuracy."
    ),
)


def decide(results: Sequence[Result]) -> ClaimFinding:
    finding = AT_TRAINED_LENGTH.decide(results)
    longer = [(f"accuracy at 128, {encoding}", _mean_at_128(results, encoding)) for encoding in ENCODINGS]
    return replace(finding, figures=(*finding.figures, *longer))


def _mean_at_128(results: Sequence[Result], encoding: str) -> float:
    return fmean(by_seed(results, encoding, lambda result: result.at(128).accuracy).values())


CLAIM = replace(AT_TRAINED_LENGTH, decide=decide)
