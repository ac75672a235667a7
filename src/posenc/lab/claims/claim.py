"""Statements that can be checked, how each is decided, and what came out. Loads no torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from posenc.lab.experiment import Experiment
from posenc.lab.frequency_roles.roles import FrequencyRoles, RolesStudy
from posenc.lab.result import Result

Word = Literal["supported", "contradicted", "undecided", "not testable"]
Figure = tuple[str, float]
#: What a run of a claim gives.
Outcome = Result | FrequencyRoles
#: Whether a statement holds, and the figures that say so.
Computation = tuple[bool, Mapping[str, float]]


@dataclass(frozen=True)
class ClaimFinding:
    """A verdict with its figures, and a sentence on what they mean.

    Args:
        verdict: "supported", "contradicted", "undecided", or "not testable" where these runs cannot show it.
        figures: Names and numbers.
        note: The sentence.
        runs: The numbers behind trained figures, by candidate and seed; empty for a computation.
        parts: The verdict on each part of a trained claim.
    """

    verdict: Word
    figures: tuple[Figure, ...]
    note: str
    runs: tuple[tuple[str, tuple[tuple[int, float], ...]], ...] = ()
    parts: tuple[tuple[str, Word], ...] = ()


@dataclass(frozen=True)
class Claim:
    """A statement of the sources.

    Args:
        statement: In our words.
        sources: The documents that say so.
        rule: What is measured, and which outcome means what, fixed before anything was run.
        decide: The finding, from the results of `experiments` and then of `studies`, in their order.
        experiments: What is trained, none where mathematics decides; several claims may share a run, which is done
            once.
        studies: Models that are trained, and then measured with each of their rotary pairs changed.
        revised: What was changed after results had been seen, or "".
    """

    statement: str
    sources: tuple[str, ...]
    rule: str
    decide: Callable[[Sequence[Outcome]], ClaimFinding]
    experiments: tuple[Experiment, ...] = ()
    studies: tuple[RolesStudy, ...] = ()
    revised: str = ""

    @property
    def trained(self) -> bool:
        """Whether it needs training runs."""
        return bool(self.experiments or self.studies)

    @property
    def runs(self) -> tuple[str, ...]:
        """Identities of all runs that decide it."""
        return (*(each.identity for each in self.experiments), *(each.identity for each in self.studies))

    def decided(self, results: Mapping[str, Outcome]) -> ClaimFinding | None:
        """The finding, or None where a run is missing.

        Args:
            results: By identity, as a store has them.
        """
        runs = [results[identity] for identity in self.runs if identity in results]
        return self.decide(runs) if len(runs) == len(self.runs) else None


def computed(
    *, statement: str, sources: tuple[str, ...], rule: str, note: str
) -> Callable[[Callable[[], Computation]], Claim]:
    """Decorator that makes a computation a claim, which it decides one way or the other.

    Args:
        statement: In our words.
        sources: The documents that say so.
        rule: What is measured, and which outcome means what.
        note: What the figures mean.

    Returns:
        The decorator; the name of the function is that of the claim.
    """

    def claim_of(compute: Callable[[], Computation]) -> Claim:
        def decide(results: Sequence[Outcome]) -> ClaimFinding:
            holds, figures = compute()
            verdict: Word = "supported" if holds else "contradicted"
            return ClaimFinding(verdict, tuple((name, float(number)) for name, number in figures.items()), note)

        return Claim(statement, sources, rule, decide)

    return claim_of


def experiments(claims: Sequence[Claim]) -> tuple[Experiment, ...]:
    """Collect the runs that claims need, each once, those of the first seed first."""
    needed = dict.fromkeys(each for claim in claims for each in claim.experiments)
    return tuple(sorted(needed, key=lambda each: each.seed))
