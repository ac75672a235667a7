"""Which mistake, or which two, explain the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Protocol

import numpy as np

from posenc.diagnosis.mistake import Hints, Mistake, Words
from posenc.diagnosis.rotation.mistakes_axes import AXES
from posenc.diagnosis.rotation.mistakes_fields import RECORD
from posenc.diagnosis.rotation.mistakes_runtime import USE
from posenc.diagnosis.rotation.mistakes_scaling import SCALING
from posenc.diagnosis.rotation.rotation_evidence import ROUGH
from posenc.diagnosis.rotation.usage import Use, pairs
from posenc.doors import Rotates
from posenc.models.canonical import canonical

#: What is tried, in this order: what a config can say before what running code alone can do.
BANK = (*SCALING, *RECORD, *AXES, *USE)
#: Those that put another scaling in the place of the whole one: two of them together say nothing.
WHOLESALE = frozenset({"scaling ignored", "scaling added", "scheme", "ramp of the paper", "exponent of NTK"})
#: Characters of a record in a sentence.
LONGEST = 160
#: Shifts of queries and keys together that are looked for before anything else, since they are harmless.
SHIFTS = (*range(1, 65), 100, 128, 255, 256, 511, 512, 1000, 1023, 1024, 2048, 4096)


@dataclass(frozen=True)
class Finding:
    """A mistake by its name, in one sentence, with what to do. where: in which layers; "" for all."""

    name: str
    sentence: str
    fix: str
    where: str = ""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.sentence} {self.fix}"


class Goal(Protocol):
    """What a use must explain; a first, rough look where `exact` is False."""

    def fits(self, use: Use, exact: bool = True) -> bool: ...


@dataclass(frozen=True)
class Same(Goal):
    """The mathematics of another record."""

    record: Rotates

    def fits(self, use: Use, exact: bool = True) -> bool:
        if not use.plain:
            return False
        if exact:
            return canonical(use.record) == canonical(self.record)
        one, other = (pairs(own, "query", exact=False) for own in (use, Use(self.record)))
        return (
            (one.dim, len(one.first)) == (other.dim, len(other.first))
            and abs(one.factor - other.factor) <= ROUGH * abs(other.factor)
            and bool(np.all(np.abs(one.rate_first - other.rate_first) <= ROUGH * np.abs(other.rate_first)))
        )


def explained(record: Rotates, goal: Goal, hints: Hints) -> tuple[Finding, ...]:
    """The one mistake, or else the two, that lead from a record to the goal; empty where none do."""
    bank = tuple(mistake for mistake in BANK if hints.target is None or not mistake.running)
    seen = {Use(record)}
    singles = [
        (mistake, use, words)
        for mistake in bank
        for use, words in mistake.change(Use(record), hints)
        if use not in seen and not seen.add(use)  # type: ignore[func-returns-value]
    ]
    for mistake, use, words in singles:
        if _fits(goal, use):
            return (named(mistake, words),)
    for mistake, use, words in singles:
        for second, both, more in _seconds(bank, mistake, use, hints):
            if both not in seen:
                seen.add(both)
                if _fits(goal, both):
                    return named(mistake, words), named(second, more)
    return ()


def _seconds(bank: Sequence[Mistake], first: Mistake, use: Use, hints: Hints) -> Iterator[tuple[Mistake, Use, Words]]:
    for second in bank:
        if second.name != first.name and not {first.name, second.name} <= WHOLESALE:
            for both, words in second.change(use, hints):
                yield second, both, words


def _fits(goal: Goal, use: Use) -> bool:
    return goal.fits(use, False) and goal.fits(use, True)


def shifted(record: Rotates, goal: Goal) -> int:
    """How far queries and keys are shifted together, if that alone explains the goal; 0 if it does not."""
    shifts: list[int] = [sign * step for step in SHIFTS for sign in (1, -1)]
    for shift in shifts:
        if _fits(goal, Use(record, query_shift=shift, key_shift=shift)):
            return shift
    return 0


def named(mistake: Mistake, words: Words, where: str = "") -> Finding:
    """The mistake with its words in its sentences, records cut short."""
    brief = {name: Brief(repr(value)) if is_dataclass(value) else value for name, value in words.items()}
    return Finding(mistake.name, mistake.sentence.format(**brief), mistake.fix.format(**brief), where)


class Brief(str):
    """A text that shows itself cut and without quotes."""

    def __repr__(self) -> str:
        return str(self) if len(self) <= LONGEST else f"{self[:LONGEST]}...)"
