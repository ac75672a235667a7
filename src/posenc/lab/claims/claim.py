"""Statements that can be checked, how each is decided, and what came out. Imports no torch."""

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
#: Whether a statement holds, or each of its parts by name, and the figures that say so.
Computation = tuple[bool | Mapping[str, bool], Mapping[str, float]]
#: The documents that posenc is built on. Any other source is a paper.
DOCUMENTS = ("lecture", "article", "lesson", "notes", "chapter")


@dataclass(frozen=True)
class ClaimFinding:
    """A verdict with its figures, and a sentence on what they mean.

    Args:
        verdict: "supported", "contradicted", "undecided", or "not testable" where these runs cannot show it.
        figures: Names and numbers.
        note: The sentence.
        runs: The numbers behind trained figures, by candidate and seed; empty for a computation.
        parts: The verdict on each part of a statement that has several, and of a trained claim.
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
        sources: Who says so: `DOCUMENTS`, or papers as "Barbero et al. 2024, arXiv:2410.06205".
        rule: What is measured, and which outcome means what, fixed before anything was run.
        decide: The finding, from the results of `experiments` and then of `studies`, in their order.
        experiments: What is trained, none where mathematics decides; several claims may share a run, which is done
            once.
        studies: Models that are trained, and then measured with each of their rotary pairs changed.
        revised: What was changed after results had been seen, or "".
        question: That the sources leave open, where they do not claim the statement: it is an answer that was tested.
    """

    statement: str
    sources: tuple[str, ...]
    rule: str
    decide: Callable[[Sequence[Outcome]], ClaimFinding]
    experiments: tuple[Experiment, ...] = ()
    studies: tuple[RolesStudy, ...] = ()
    revised: str = ""
    question: str = ""

    @property
    def said_by(self) -> str:
        """Its sources, in words.

        Example:
            >>> computed(statement="", sources=("notes", "Su et al. 2021"), rule="", note="")(dict).said_by
            'the notes, Su et al. 2021'
        """
        return ", ".join(f"the {source}" if source in DOCUMENTS else source for source in self.sources)

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
    *, statement: str, sources: tuple[str, ...], rule: str, note: str, question: str = "", revised: str = ""
) -> Callable[[Callable[[], Computation]], Claim]:
    """Make a decorator that turns a function into a Claim, supported or contradicted by what the function computes.

    Args:
        statement: In our words.
        sources: Who says so.
        rule: What is measured, and which outcome means what.
        note: What the figures mean.
        question: That a source asks, and to which the statement is an answer.
        revised: What was changed after results had been seen.

    Returns:
        The decorator; the name of the function is that of the claim.
    """

    def claim_of(compute: Callable[[], Computation]) -> Claim:
        def decide(results: Sequence[Outcome]) -> ClaimFinding:
            holds, figures = compute()
            named = holds if isinstance(holds, Mapping) else {}
            parts = tuple((name, _word(part)) for name, part in named.items())
            verdict = compound([word for _, word in parts]) if parts else _word(bool(holds))
            numbers = tuple((name, float(number)) for name, number in figures.items())
            return ClaimFinding(verdict, numbers, note, parts=parts)

        return Claim(statement, sources, rule, decide, revised=revised, question=question)

    return claim_of


def compound(words: Sequence[Word]) -> Word:
    """Combine the verdicts of parts: contradicted if any is; supported or not testable if all are; else undecided.

    Example:
        >>> compound(["supported", "not testable"]), compound(["contradicted", "not testable"])
        ('undecided', 'contradicted')
    """
    if "contradicted" in words:
        return "contradicted"
    if set(words) == {"not testable"}:
        return "not testable"
    return "supported" if set(words) == {"supported"} else "undecided"


def _word(holds: bool) -> Word:
    return "supported" if holds else "contradicted"


def experiments(claims: Sequence[Claim]) -> tuple[Experiment, ...]:
    """Collect the runs that claims need, each once, those of the first seed first."""
    needed = dict.fromkeys(each for claim in claims for each in claim.experiments)
    return tuple(sorted(needed, key=lambda each: each.seed))
