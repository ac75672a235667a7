"""Learning rates of a comparison: each candidate at the best of several, chosen on seeds that are judged nowhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Any

from posenc.core import validation
from posenc.core.declared_fields import Declared, Whole
from posenc.lab.experiment import Experiment
from posenc.lab.result import Result

#: The first pilot seed, far behind those that are judged.
FIRST_PILOT = 1_000_000


@dataclass(frozen=True)
class LearningRates:
    """Rule that checks a field: two or more different learning rates, stored in rising order."""

    def __call__(self, name: str, value: Any) -> tuple[float, ...]:
        rule = f"{name} must be two or more different learning rates"
        if not isinstance(value, tuple | list):
            raise TypeError(f"{rule}; got {validation.shown(value)}. Give a tuple of numbers.")
        rates = sorted({validation.real(f"{name}[{at}]", rate, 0.0, 1.0, above=True) for at, rate in enumerate(value)})
        if len(rates) < 2 or len(rates) < len(value):
            raise ValueError(f"{rule}; got {', '.join(f'{rate:g}' for rate in value)}. Leave out repeats.")
        return tuple(rates)


@dataclass(frozen=True)
class RateSweep(Declared):
    """Rule by which the learning rate of each candidate is chosen.

    Args:
        rates: Peak learning rates that are tried.
        pilots: Seeds that each is tried with; none of them is judged.

    Raises:
        TypeError: A value has the wrong type; the message names the field.
        ValueError: A value breaks its rule; the message names the field.

    Example:
        >>> sweep = RateSweep((2e-3, 6e-3), pilots=1)
        >>> [(run.rate, run.seed) for run in sweep.pilot_runs([Experiment("RoPE(dim=16)", "copy")])]
        [(0.002, 1000000), (0.006, 1000000)]
    """

    rates: Annotated[tuple[float, ...], LearningRates()]
    pilots: Annotated[int, Whole(1, 10_000)] = 2

    @property
    def pilot_seeds(self) -> tuple[int, ...]:
        """Seeds of the pilots."""
        return tuple(range(FIRST_PILOT, FIRST_PILOT + self.pilots))

    def pilot_runs(self, runs: Sequence[Experiment]) -> tuple[Experiment, ...]:
        """Plan the pilots of all candidates of some runs.

        Args:
            runs: Whose rates and seeds are not looked at.

        Returns:
            A run for each candidate, rate and pilot seed.
        """
        seeds = self.pilot_seeds
        return tuple(
            dataclasses.replace(each, rate=rate, seed=seed)
            for each in dict.fromkeys(map(self._candidate, runs))
            for seed in seeds
            for rate in self.rates
        )

    def at_best_rates(
        self, runs: Sequence[Experiment], results: Mapping[str, Result], *, all_tried: bool = False
    ) -> tuple[Experiment, ...]:
        """Set each run's learning rate to the one with the lowest mean loss of its candidate's pilots.

        The loss is that at the shortest test length. A rate at which a pilot has no result is not taken. No run is
        begun before all pilots of its candidate were tried: where one has a result, those without have failed.

        Args:
            runs: Planned, at any rate.
            results: Of the pilots and of runs that are judged, by identity.
            all_tried: Whether every pilot without a result has failed; otherwise a candidate that has one, and no run
                at its best rate, is still undecided.

        Returns:
            The runs at their rates; those of undecided candidates are left out.
        """
        best = {each: self._best_rate(each, results) for each in map(self._candidate, runs)}
        rated = ((run, best[self._candidate(run)]) for run in runs)
        chosen = tuple(dataclasses.replace(run, rate=rate) for run, rate in rated if rate is not None)
        begun = {self._candidate(run) for run in chosen if run.identity in results}
        undecided = {
            each
            for each in best.keys() - begun
            if not all_tried and any(pilot.identity not in results for pilot in self.pilot_runs([each]))
        }
        return tuple(run for run in chosen if self._candidate(run) not in undecided)

    def _candidate(self, run: Experiment) -> Experiment:
        return dataclasses.replace(run, rate=self.rates[0], seed=0)

    def _best_rate(self, candidate: Experiment, results: Mapping[str, Result]) -> float | None:
        pilots = self.pilot_runs([candidate])
        losses: dict[float, float] = {}
        for rate in self.rates:
            of_rate = [results.get(each.identity) for each in pilots if each.rate == rate]
            found = [result.at(candidate.test_lengths[0]).loss for result in of_rate if result is not None]
            if len(found) == self.pilots:
                losses[rate] = fmean(found)
        return min(losses, key=lambda rate: losses[rate]) if losses else None
