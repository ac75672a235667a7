"""The lesson under way: stage by stage, from numbers to trained models, in one page that is whole after each of them.

The page is written after every stage and every trained model, so whoever stops the lesson keeps what was done so far.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from posenc.core.declared_fields import Declared, Whole
from posenc.explorer.lesson.lesson_page import lesson_page
from posenc.explorer.lesson.live_models import live_models
from posenc.explorer.lesson.numbers import lesson_data
from posenc.explorer.lesson.orders import PAIRS, same_words
from posenc.explorer.lesson.reading import Reading, read_tokens
from posenc.explorer.lesson.trained_models import LEARNERS, learned_maps, trained_models
from posenc.explorer.write_atomically import page_path, write_atomically
from posenc.lab.tour_plan import TrainingOutcome, TrainingRecipe, run_candidates, tour_candidates
from posenc.lab.word_roles import STEPS as ROLE_STEPS

#: Steps that take about a minute and a half on two cores; the orderings it shows are those of this budget.
STEPS = 700
#: The stage that counts the steps of all models together.
ALL = "all models"


@dataclass(frozen=True)
class Settings(Declared):
    """Settings of the tour.

    Args:
        text: File to train on; the English that ships with Python if left out.
        pairs: Pairs of sentences, the same words in two orders.
        output: Page to write.
        seed: Seed of the initial weights, the order of the data and the generated text.
        steps: Training steps for each model.
        workers: Processes that train; one for each core if left out.
    """

    text: Path | None = None
    pairs: tuple[tuple[str, str], ...] = PAIRS
    output: Path = Path("tour.html")
    seed: Annotated[int, Whole(0, 2**63 - 1)] = 0
    steps: Annotated[int, Whole(1, 10**6)] = STEPS
    workers: Annotated[int, Whole(1, 1024)] | None = None

    def _check_together(self) -> None:
        same_words(self.pairs)

    @property
    def recipe(self) -> TrainingRecipe:
        """Training of each model: at this size a peak rate of 0.006 is stable and learns fast for all six."""
        return TrainingRecipe(steps=self.steps, seed=self.seed, rate=6e-3)


@dataclass(frozen=True)
class StageProgress:
    """Progress of a stage: `done` of `total`, with a word on the newest."""

    stage: str
    done: int
    total: int
    note: str = ""


@dataclass
class Journey:
    """A lesson under way: the data of its page, and what has been measured so far."""

    settings: Settings
    data: dict[str, Any] = field(default_factory=dict)
    outcomes: dict[int, TrainingOutcome] = field(default_factory=dict)
    written: bool = False

    @property
    def candidates(self) -> int:
        """How many models are trained in all."""
        return len(tour_candidates(self.settings.recipe))

    def steps(self) -> Generator[StageProgress, None, None]:
        """Do everything, telling how far it is; the page is whole whenever this stops."""
        self._writable()
        yield StageProgress("text", 0, 1)
        reading = read_tokens(self.settings.text)
        yield StageProgress("text", 1, 1, f"{reading.tokens} tokens")
        self.data = lesson_data(self.settings.pairs, self.settings.seed)
        self._write("This page is partial. More stages follow.")
        yield StageProgress("numbers", 1, 1)
        maps: list[dict[str, Any]] = []
        for name, encoding in LEARNERS:
            maps.append(learned_maps(name, encoding, min(self.settings.steps, ROLE_STEPS), self.settings.seed))
            yield StageProgress("attention", len(maps), len(LEARNERS), name)
        self.data["maps"] = maps
        self._write("This page is partial. The models are not trained yet.")
        yield from self._trained(reading)

    def _trained(self, reading: Reading) -> Generator[StageProgress, None, None]:
        recipe = self.settings.recipe
        runners = tour_candidates(recipe)
        done = dict.fromkeys((runner.name for runner in runners), 0)
        yield StageProgress(ALL, 0, recipe.steps * len(runners))
        yield from (StageProgress(name, 0, recipe.steps) for name in done)
        with contextlib.closing(run_candidates(runners, reading.corpus, recipe, self.settings.workers)) as events:
            for index, happened in events:
                name = runners[index].name
                if isinstance(happened, TrainingOutcome):
                    self.outcomes[index] = happened
                    self._write_results(reading, list(done))
                    done[name], loss = recipe.steps, happened.curve[-1].loss
                else:
                    # A model is done when it is measured, too.
                    done[name], loss = min(happened.step, recipe.steps - 1), happened.loss
                yield StageProgress(name, done[name], recipe.steps, f"loss {loss:.2f}")
                yield StageProgress(ALL, sum(done.values()), recipe.steps * len(runners))

    def _write_results(self, reading: Reading, names: list[str]) -> None:
        """Write the page with the results so far."""
        finished = [self.outcomes[index] for index in sorted(self.outcomes)]
        self.data["models"] = trained_models(finished, self.settings.recipe, reading)
        if runnable := [outcome for outcome in finished if outcome.rounded is not None]:
            self.data["live"] = live_models(runnable, self.settings.recipe, reading)
        missing = [name for index, name in enumerate(names) if index not in self.outcomes]
        self._write(f"This page is partial: not trained yet: {', '.join(missing)}." if missing else "")

    def _write(self, status: str) -> None:
        write_atomically(self.settings.output, lesson_page(self.data, status))
        self.written = True

    def _writable(self) -> None:
        """Refuse at once an output that could only fail after the work."""
        path = page_path("output", self.settings.output)
        if not os.access(path.parent, os.W_OK) or (path.exists() and not (path.is_file() and os.access(path, os.W_OK))):
            raise ValueError(f"output must be writable; got {str(path)!r}. Choose another place.")
