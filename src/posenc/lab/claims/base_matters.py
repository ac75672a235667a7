"""The base of a rotary encoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from posenc.lab.claims.claim import Claim, ClaimFinding, Trained
from posenc.lab.claims.judging import RULE, advantage, by_seed, exceeds
from posenc.lab.claims.recipes import ROTARY, runs
from posenc.lab.result import Result

ENCODINGS = (ROTARY, "RoPE(dim=16, base=100.0)", "RoPE(dim=16, base=1000000.0)")


def decide(results: Sequence[Result]) -> ClaimFinding:
    _, small, large = ENCODINGS
    gains = {
        "base 100 - base 10,000": advantage(results, small, ROTARY, lambda result: result.at(32).accuracy),
        "base 10,000 - base 1,000,000": advantage(results, ROTARY, large, lambda result: result.at(32).accuracy),
    }
    finding = exceeds(
        gains,
        0.02,
        "All three bases answer everything at the trained length, so there they cannot differ. At four "
        "times the length, which the rule does not judge, they do: a smaller base keeps more of its accuracy.",
    )
    longer = [(f"accuracy at 128, {encoding}", _mean_at_128(results, encoding)) for encoding in ENCODINGS]
    return replace(finding, figures=(*finding.figures, *longer))


def _mean_at_128(results: Sequence[Result], encoding: str) -> float:
    accuracies = by_seed(results, encoding, lambda result: result.at(128).accuracy).values()
    return sum(accuracies) / len(accuracies)


CLAIM = Claim(
    statement="The base decides how well a model learns: for short distances, a smaller one is better.",
    sources=("lecture",),
    rule=(
        "An encoder of 0.1 million parameters says which token stands as many places back as a cue says, "
        "500 steps of 32 sequences of 32: the accuracy at 32 falls by more than 0.02 from base 100 to "
        "10,000, and from there to 1,000,000."
    )
    + " "
    + RULE,
    evidence=Trained(runs("cued-offset", ENCODINGS), decide),
)
