"""Search for the mistake, or the two mistakes, that lead from what is right to what is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from posenc.core import validation
from posenc.diagnosis.mistake import Finding, Mistake, Words

Subject = TypeVar("Subject")
Shown = TypeVar("Shown", contravariant=True)


class Evidence(Protocol[Shown]):
    """Observations that a subject has to explain: numbers, or another config."""

    def fits(self, subject: Shown, exact: bool = True) -> bool:
        """Whether the subject explains all of it.

        Args:
            subject: The changed subject.
            exact: False for a cheap first look, at a subsample, say: it may accept too much, and rejects nothing that
                fits.
        """


@dataclass(frozen=True)
class Attempt(Generic[Subject]):
    """Right subject, the mistakes made in it, each with its words, and the wrong subject that results.

    Args:
        start: The right subject.
        subject: The wrong subject.
        steps: Mistakes that lead from the start to the subject, each with its words.
    """

    start: Subject
    subject: Subject
    steps: tuple[tuple[Mistake[Subject], Words], ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of the mistakes, with the words filled into their sentences."""
        return tuple(mistake.finding(words) for mistake, words in self.steps)


def explain(
    starts: Iterable[Subject], bank: Sequence[Mistake[Subject]], evidence: Evidence[Subject], most: int = 2
) -> Attempt[Subject] | None:
    """Find the first single mistake that leads from a start to the evidence, or else the first two.

    Args:
        starts: Subjects that may have been meant, the likeliest first; hashable.
        bank: Mistakes, in the order of preference.
        evidence: Observations that the changed subject must explain.
        most: How many mistakes may come together.

    Returns:
        The attempt that explains the evidence, with its findings; None where no mistakes of the bank do.

    Raises:
        TypeError: An argument is of another kind than stated.

    Example:
        >>> from posenc.diagnosis import Mistake
        >>> class Shown:
        ...     def fits(self, subject: int, exact: bool = True) -> bool:
        ...         return subject == 8
        >>> doubled = Mistake("doubled", "It is doubled.", "Halve it.", lambda number, evidence: [(2 * number, {})])
        >>> explain([4], [doubled], Shown()).findings[0].sentence
        'It is doubled.'
    """
    for name, values in (("starts", starts), ("bank", bank)):
        if not isinstance(values, list | tuple):
            raise TypeError(f"{name} must be a list; got {validation.shown(values)}. Give [start], say.")
    if not all(isinstance(mistake, Mistake) for mistake in bank):
        raise TypeError(
            f"bank must be a list of mistakes; got {validation.shown(bank)}. Give posenc.diagnosis.Mistake."
        )
    if not callable(getattr(evidence, "fits", None)):
        raise TypeError(f"evidence must have a method fits; got {validation.shown(evidence)}. See Evidence.")
    most = validation.integer("most", most, 0, 8)
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
    """Yield every attempt with each further mistake; skip subjects in `tried`, and add each new one to it."""
    for attempt in attempts:
        for mistake in bank:
            if all(mistake.goes_with(earlier) for earlier, _ in attempt.steps):
                for subject, words in mistake.change(attempt.subject, evidence):
                    if subject is not None and subject not in tried:
                        tried.add(subject)
                        yield Attempt(attempt.start, subject, (*attempt.steps, (mistake, words)))
