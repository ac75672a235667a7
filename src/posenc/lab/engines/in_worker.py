"""What jobs call where they run: trials on one thread that give equal numbers for equal records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posenc.lab.data import Corpus
    from posenc.lab.result import Progress
    from posenc.lab.run_config import Contestant, Outcome, Recipe


def train_contestant(contestant: Contestant, corpus: Corpus, recipe: Recipe) -> Iterator[Progress | Outcome]:
    """`posenc.lab.trial.trial`, a run of the tour, in a process of its own."""
    from posenc.lab import trial

    trial.reproducible()
    yield from trial.trial(contestant, corpus, recipe)
