"""The encodings that the tour compares, one for each way of telling a decoder where it is, and their training."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.nope import NoPE
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.rope import RoPE
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
    head = recipe.width // recipe.heads
    return (
        Contestant("none", NoPE(dim=recipe.width)),
        Contestant("sinusoidal", Sinusoidal(dim=recipe.width)),
        Contestant("learned", Learned(dim=recipe.width, length=recipe.length, outside="clamp"), PACE),
        Contestant("rotary", RoPE(dim=head)),
        Contestant("ALiBi", ALiBi(heads=recipe.heads)),
        Contestant("T5", T5Bias(heads=recipe.heads, bidirectional=False), PACE),
    )


def run(
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
