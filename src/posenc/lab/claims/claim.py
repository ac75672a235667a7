"""A statement that can be checked, how it is decided, and what came out. Loads no torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from posenc.lab.experiment import Experiment
from posenc.lab.result import Result

Word = Literal["supported", "contradicted", "undecided"]
Figure = tuple[str, float]


@dataclass(frozen=True)
class ClaimFinding:
    """A verdict with its figures, and one sentence on what they mean.

    runs: the numbers behind trained figures, by contestant and seed; empty for a computation.
    """

    verdict: Word
    figures: tuple[Figure, ...]
    note: str
    runs: tuple[tuple[str, tuple[tuple[int, float], ...]], ...] = ()


@dataclass(frozen=True)
class Computed:
    """A statement that mathematics decides: the function computes its figures and the verdict."""

    compute: Callable[[], ClaimFinding]


@dataclass(frozen=True)
class Trained:
    """A statement that training decides: what is run, and the function that makes the verdict of its results.

    experiments may be shared by several claims; each is run once. results are in the order of `experiments`.
    """

    experiments: tuple[Experiment, ...]
    decide: Callable[[Sequence[Result]], ClaimFinding]


@dataclass(frozen=True)
class Claim:
    """A statement of the sources.

    statement: in our words.   sources: the documents that say so.   rule: what is measured, and which outcome means
    what, fixed before anything was run.   evidence: how it is decided.
    """

    statement: str
    sources: tuple[str, ...]
    rule: str
    evidence: Computed | Trained

    @property
    def trained(self) -> bool:
        """Whether it needs training runs."""
        return isinstance(self.evidence, Trained)


def found(holds: bool, figures: Mapping[str, float], note: str) -> ClaimFinding:
    """A computed finding: a computation decides, one way or the other."""
    verdict: Word = "supported" if holds else "contradicted"
    return ClaimFinding(verdict, tuple((name, float(number)) for name, number in figures.items()), note)
