"""Search for the mistake, or the two mistakes, that lead from what is right to what is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from posenc.diagnosis.mistake import Finding, Mistake, Words

Subject = TypeVar("Subject")
Shown = TypeVar("Shown", contravariant=True)


class Evidence(Protocol[Shown]):
    """Observations that a subject has to explain: numbers, or another config."""

    def fits(self, subject: Shown, exact: bool = True) -> bool:
        """Whether the subject explains all of it.

        exact=False: a cheap first look, at a subsample, say, that may accept too much but rejects nothing that fits.
        """


@dataclass(frozen=True)
class Attempt(Generic[Subject]):
    """A start, and the subject that some mistakes, each with its words, make of it."""

    start: Subject
    subject: Subject
    steps: tuple[tuple[Mistake[Subject], Words], ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(mistake.finding(words) for mistake, words in self.steps)


def explain(
    starts: Iterable[Subject], bank: Sequence[Mistake[Subject]], evidence: Evidence[Subject], most: int = 2
) -> Attempt[Subject] | None:
    """Find the first single mistake that explains the evidence, or else the first two.

    Args:
        starts: What may have been meant, the likeliest first.
        bank: In the order of preference.
        most: How many mistakes may come together. None where no mistakes explain the evidence.
    """
    attempts = [Attempt(start, start) for start in starts]
    tried = {attempt.start for attempt in attempts}
    for _ in range(most):
        following = []
        for attempt in one_mistake_more(attempts, bank, evidence, tried):
            if evidence.fits(attempt.subject, exact=False) and evidence.fits(attempt.subject):
                return attempt
            following.append(attempt)
        attempts = following
    return None


def one_mistake_more(
    attempts: Iterable[Attempt[Subject]],
    bank: Sequence[Mistake[Subject]],
    evidence: Evidence[Subject],
    tried: set[Subject],
) -> Iterator[Attempt[Subject]]:
    """Every attempt with each mistake made in it besides; skips subjects in `tried`, and adds each new one to it."""
    for attempt in attempts:
        for mistake in bank:
            if all(mistake.goes_with(earlier) for earlier, _ in attempt.steps):
                for subject, words in mistake.change(attempt.subject, evidence):
                    if subject is not None and subject not in tried:
                        tried.add(subject)
                        yield Attempt(attempt.start, subject, (*attempt.steps, (mistake, words)))
