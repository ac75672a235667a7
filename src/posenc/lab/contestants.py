"""The encodings that the tour compares, one for each way of telling a decoder where it is, and their training."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from posenc.lab.comparison.usual_encodings import six
from posenc.lab.data import Corpus
from posenc.lab.engines import local
from posenc.lab.engines.events import Event, Failure, Job
from posenc.lab.run_config import Contestant, TrainingRecipe

#: The rate of an encoding's own parameters, as a multiple of the model's.
PACE = 10.0


def contestants(recipe: TrainingRecipe) -> tuple[Contestant, ...]:
    """None, sinusoidal, learned, rotary, ALiBi and T5, for a model of the recipe's size.

    The learned table has a row for each position of training and no more: beyond, its last row is used (clamp). What an
    encoding learns, it learns at ten times the model's rate: at the model's own, small tables hardly move in a short
    training."""
    names = ("none", "sinusoidal", "learned", "rotary", "ALiBi", "T5")
    encodings = six(recipe.width, recipe.heads, recipe.length, causal=True)
    return tuple(
        Contestant(name, encoding, PACE if encoding.shapes else 1.0)
        for name, encoding in zip(names, encodings, strict=True)
    )


def run_contestants(
    contestants: Sequence[Contestant], corpus: Corpus, recipe: TrainingRecipe, workers: int | None = None
) -> Generator[Event, None, None]:
    """The trials of all contestants in worker processes; RuntimeError names the contestant whose trial failed."""
    jobs = [
        Job(each.name, "posenc.lab.engines.in_worker:train_contestant", (each, corpus, recipe)) for each in contestants
    ]
    for event in local.run(jobs, workers):
        if isinstance(event.report, Failure):
            raise RuntimeError(f"training {contestants[event.job].name} failed: {event.report.message}")
        yield event
