"""Quantities that several claims share: numbers per seed of trained models, and how a score falls with distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from posenc.lab.claims.claim import Outcome
from posenc.lab.comparison.setting import metric_value
from posenc.lab.frequency_roles.roles import Effect, FrequencyRoles, PairChange, halves
from posenc.lab.result import Result

#: A number for each seed.
Numbers = Mapping[int, float]
#: From this accuracy on, or this BLEU, nothing is left to gain; up to the other, nothing was learned. The floor is well
#: above chance: 1/8 or 1/16 in the tasks of the claims.
ACCURACY_ENDS, BLEU_ENDS = (0.2, 0.98), (1.0, 99.0)


@dataclass(frozen=True)
class Scored:
    """Score read from a run, with the floor and the ceiling of its scale, where no difference can show.

    Args:
        of: The number.
        floor: At or below it, nothing was learned.
        ceiling: At or above it, nothing is left to gain.
    """

    of: Callable[[Result], float]
    floor: float = -math.inf
    ceiling: float = math.inf

    def by_seed(self, results: Sequence[Outcome], encoding: str) -> dict[int, float]:
        """The number of each seed of an encoding.

        Raises:
            ValueError: The encoding was not run.
        """
        runs = [each for each in results if isinstance(each, Result) and each.experiment.encoding == encoding]
        numbers = {each.experiment.seed: self.of(each) for each in runs}
        if not numbers:
            raise ValueError(f"encoding must be one that was run; got {encoding}. Choose one of the claim's.")
        return numbers


class Quantity(Protocol):
    """A number for each seed, from finished runs."""

    def by_seed(self, results: Sequence[Outcome]) -> Numbers:
        """The numbers."""

    def saturation(self, results: Sequence[Outcome]) -> str:
        """Why the numbers cannot show anything: "at the ceiling", "at the floor" or ""."""


@dataclass(frozen=True)
class Of:
    """Quantity of a single encoding: its score for each seed."""

    encoding: str
    score: Scored

    def by_seed(self, results: Sequence[Outcome]) -> Numbers:
        return self.score.by_seed(results, self.encoding)

    def saturation(self, results: Sequence[Outcome]) -> str:
        return ""


@dataclass(frozen=True)
class Gain:
    """Difference of a number between two encodings, seed by seed."""

    better: str
    than: str
    score: Scored

    def by_seed(self, results: Sequence[Outcome]) -> Numbers:
        first, second = (self.score.by_seed(results, each) for each in (self.better, self.than))
        return {seed: first[seed] - second[seed] for seed in first if seed in second}

    def saturation(self, results: Sequence[Outcome]) -> str:
        sides = [number for each in (self.better, self.than) for number in self.score.by_seed(results, each).values()]
        if min(sides) >= self.score.ceiling:
            return "at the ceiling"
        return "at the floor" if max(sides) <= self.score.floor else ""


@dataclass(frozen=True)
class HalfCost:
    """Nats that a change of one half of the rotary pairs costs, or how much more than the same change of the other.

    Args:
        effect: What happens to the pairs.
        half: 0 for the faster half, 1 for the slower.
        than_other: Whether the cost of the other half is taken off.
    """

    effect: Effect
    half: int
    than_other: bool = False

    def by_seed(self, results: Sequence[Outcome]) -> Numbers:
        return {each.seed or 0: self._cost(each) for each in results if isinstance(each, FrequencyRoles)}

    def _cost(self, roles: FrequencyRoles) -> float:
        costs = [roles.loss_of(PairChange(self.effect, pairs)) for pairs in halves(roles.pairs)]
        return costs[self.half] - (costs[1 - self.half] if self.than_other else 0.0)

    def saturation(self, results: Sequence[Outcome]) -> str:
        return ""


def accuracy_at(length: int) -> Scored:
    """Accuracy at a test length."""
    return Scored(lambda result: result.at(length).accuracy, *ACCURACY_ENDS)


def loss_at(length: int) -> Scored:
    """Held-out loss at a test length."""
    return Scored(lambda result: result.at(length).loss)


def bleu_at(length: int) -> Scored:
    """BLEU at a test length."""
    return Scored(lambda result: metric_value(result.at(length), "bleu"), *BLEU_ENDS)


#: The longest distance that is compared, and the share of pairs of distances from which on a score generally falls.
LONGEST, GENERALLY = 256, 0.75
FALLS = (
    f"Of all pairs of distances from 1 to {LONGEST}: supported if the nearer one has the higher score in more than "
    f"{GENERALLY:g} of them."
)
STRICT = (
    "Two claims on scores that fall with distance had rules of different strictness; both have had this one since, set "
    "before its figures were computed."
)


def nearer_is_higher(scores: np.ndarray) -> tuple[float, int]:
    """Measure how often the nearer of two distances scores higher, and count the steps that rise.

    Args:
        scores: At the distances 0, 1, 2, ….

    Returns:
        The share of pairs of distances from 1 on whose nearer one has the higher score, and the steps that rise.

    Example:
        >>> nearer_is_higher(np.array([9.0, 3.0, 1.0, 2.0]))[1]
        1
    """
    rest = np.asarray(scores)[1:]
    near, far = np.triu_indices(len(rest), 1)
    return float((rest[near] > rest[far]).mean()), int((np.diff(rest) > 0).sum())
