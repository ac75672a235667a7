"""Claims decided: computed here, or from the results of their runs. Loads no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from posenc.lab.claims.claim import Claim, ClaimFinding, Computed
from posenc.lab.experiment import Experiment
from posenc.lab.result import Result


def experiments(claims: Sequence[Claim]) -> tuple[Experiment, ...]:
    """The runs that claims need, each once, those of the first seed first."""
    needed = dict.fromkeys(
        each for claim in claims if not isinstance(claim.evidence, Computed) for each in claim.evidence.experiments
    )
    return tuple(sorted(needed, key=lambda each: each.seed))


def decided(claim: Claim, results: Mapping[str, Result]) -> ClaimFinding | None:
    """The finding, or None where a run is missing. results: by identity, as a store has them."""
    if isinstance(claim.evidence, Computed):
        return claim.evidence.compute()
    runs = [results.get(each.identity) for each in claim.evidence.experiments]
    finished = [run for run in runs if run is not None]
    return claim.evidence.decide(finished) if len(finished) == len(runs) else None
