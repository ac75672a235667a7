"""What jobs call where they run: trials on one thread that give equal numbers for equal encodings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posenc.lab.data import Corpus
    from posenc.lab.experiment import Experiment
    from posenc.lab.result import Progress, Result
    from posenc.lab.run_config import Contestant, TrainingOutcome, TrainingRecipe


def train_experiment(experiment: Experiment, device: str = "cpu") -> Iterator[Progress | Result]:
    """`posenc.lab.trial.run`, in a process of its own."""
    from posenc.lab import trial
    from posenc.lab.reproducible import reproducible

    reproducible(device)
    yield from trial.run(experiment, device=device)


def train_contestant(
    contestant: Contestant, corpus: Corpus, recipe: TrainingRecipe
) -> Iterator[Progress | TrainingOutcome]:
    """`posenc.lab.tour_trial.trial`, a run of the tour, in a process of its own."""
    from posenc.lab import tour_trial
    from posenc.lab.reproducible import reproducible

    reproducible()
    yield from tour_trial.trial(contestant, corpus, recipe)
