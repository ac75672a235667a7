"""The lesson under way: stage by stage, from numbers to trained models, in one page that is whole after each of them.

The page is written after every stage and every trained model, so whoever stops the lesson keeps what was done so far.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from posenc.core.declared_fields import Declared, Whole
from posenc.explorer.lesson.lesson_page import lesson_page
from posenc.explorer.lesson.live_models import live_models
from posenc.explorer.lesson.numbers import lesson_data
from posenc.explorer.lesson.orders import PAIRS, same_words
from posenc.explorer.lesson.reading import Reading, read_tokens
from posenc.explorer.lesson.scaled_curves import scaled_curves
from posenc.explorer.lesson.trained_models import LEARNERS, learned_maps, trained_models
from posenc.explorer.write_atomically import page_path, write_atomically
from posenc.lab.experiment import Experiment
from posenc.lab.result import Progress
from posenc.lab.tour_plan import NAMES, TourModel, run_tour, tour_experiments
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


@dataclass(frozen=True)
class StageProgress:
    """Progress of a stage: `done` of `total` steps, with a short note such as the newest loss."""

    stage: str
    done: int
    total: int
    note: str = ""


@dataclass
class Journey:
    """A lesson under way: the data of its page, and what has been measured so far."""

    settings: Settings
    data: dict[str, Any] = field(default_factory=dict)
    models: dict[str, TourModel] = field(default_factory=dict)
    written: bool = False

    def steps(self) -> Generator[StageProgress, None, None]:
        """Run every stage and yield progress; each stage rewrites the page, so that a stop leaves a valid file."""
        self._writable()
        yield StageProgress("text", 0, 1)
        text = "" if self.settings.text is None else str(self.settings.text)
        experiments = tour_experiments(text, self.settings.steps, self.settings.seed)
        reading = read_tokens(experiments[NAMES[0]])
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
        yield from self._trained(experiments, reading)

    def _trained(self, experiments: Mapping[str, Experiment], reading: Reading) -> Generator[StageProgress, None, None]:
        steps = self.settings.steps
        done = dict.fromkeys(experiments, 0)
        yield StageProgress(ALL, 0, steps * len(done))
        yield from (StageProgress(name, 0, steps) for name in done)
        with contextlib.closing(run_tour(experiments, self.settings.workers)) as events:
            for index, report in events:
                name = NAMES[index]
                if isinstance(report, TourModel):
                    self.models[name] = report
                    self._write_results(reading)
                    done[name], loss = steps, report.result.curve[-1].loss
                elif isinstance(report, Progress):
                    # A model is done when it is measured, too.
                    done[name], loss = min(report.step, steps - 1), report.loss
                else:
                    continue
                yield StageProgress(name, done[name], steps, f"loss {loss:.2f}")
                yield StageProgress(ALL, sum(done.values()), steps * len(done))

    def _write_results(self, reading: Reading) -> None:
        """Write the page with the results so far."""
        finished = [self.models[name] for name in NAMES if name in self.models]
        self.data["models"] = trained_models(finished, reading)
        self.data["live"] = live_models(finished, reading)
        if curves := scaled_curves(finished):
            self.data["longer"] = curves
        missing = [name for name in NAMES if name not in self.models]
        self._write(f"This page is partial: not trained yet: {', '.join(missing)}." if missing else "")

    def _write(self, status: str) -> None:
        write_atomically(self.settings.output, lesson_page(self.data, status))
        self.written = True

    def _writable(self) -> None:
        """Refuse at once an output that could only fail after the work."""
        path = page_path("output", self.settings.output)
        if not os.access(path.parent, os.W_OK) or (path.exists() and not (path.is_file() and os.access(path, os.W_OK))):
            raise ValueError(f"output must be writable; got {str(path)!r}. Choose another place.")
