"""The tour: positional encoding at work on a text and on sentences, stage by stage, in one page.

The page is written after every stage and every trained model, so whoever stops the tour keeps a whole report of what
was done so far.
"""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from posenc.declared_fields import Declared, Whole
from posenc.explorer.report import Report, Section
from posenc.explorer.tour_basics import LADDER_TITLE, WORKED_TITLE, ladder, worked_examples
from posenc.explorer.tour_order import ORDER_TITLE, PAIRS, orders, same_words
from posenc.explorer.tour_pictures import PICTURES, PICTURES_TITLE
from posenc.explorer.tour_results import conditions, results
from posenc.explorer.tour_text import TEXT_TITLE, Reading, read, tokens_and_positions
from posenc.explorer.tour_words import findings
from posenc.lab.contestants import contestants, run
from posenc.lab.run_config import Outcome, Recipe

#: What trains in about a minute and a half on two cores; the orderings it shows are those of this budget.
STEPS = 700
#: The stage that counts the steps of all models together.
ALL = "all models"


@dataclass(frozen=True)
class Settings(Declared):
    """What the tour is given. text: a file, or the English that ships with Python; pairs: sentences in two orders."""

    text: Path | None = None
    pairs: tuple[tuple[str, str], ...] = PAIRS
    output: Path = Path("tour.html")
    seed: Annotated[int, Whole(0, 2**63 - 1)] = 0
    steps: Annotated[int, Whole(1, 10**6)] = STEPS
    workers: Annotated[int, Whole(1, 1024)] | None = None

    def _check_together(self) -> None:
        same_words(self.pairs)

    @property
    def recipe(self) -> Recipe:
        """How each model is trained: at this size a peak rate of 0.006 is stable and learns fast for all six."""
        return Recipe(steps=self.steps, seed=self.seed, rate=6e-3)


@dataclass(frozen=True)
class Step:
    """How far a stage is: `done` of `total`, with a word on the newest."""

    stage: str
    done: int
    total: int
    note: str = ""


@dataclass
class Journey:
    """A tour under way: its report, and what has been measured so far."""

    settings: Settings
    report: Report = field(init=False)
    summary: Section = field(init=False)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    written: bool = False

    def __post_init__(self) -> None:
        self.report = Report(
            "A tour of positional encoding",
            lead=(
                "What a transformer knows of order, where it gets it from, and what each way of telling it does to a "
                "model."
            ),
        )
        self.summary = self.report.section("In short")
        self.summary.text(
            "Self-attention sees a set of tokens, not a sequence. A positional encoding tells it where each token "
            "stands. This page shows the problem, the encodings that solve it with their numbers, and six small "
            "models that differ in nothing else, trained on one text while this page was made."
        )

    @property
    def contestants(self) -> int:
        """How many models are trained in all."""
        return len(contestants(self.settings.recipe))

    def steps(self) -> Generator[Step, None, None]:
        """Do everything, telling how far it is. The page is whole whenever this stops."""
        self._writable()
        yield Step("text", 0, 1)
        reading = read(self.settings.text)
        tokens_and_positions(self.report.section(TEXT_TITLE), reading, self.settings.pairs)
        yield self._written("text", 1, 1, f"{reading.tokens} tokens")
        orders(self.report.section(ORDER_TITLE), self.settings.pairs, self.settings.seed)
        yield self._written("order", 1, 1)
        ladder(self.report.section(LADDER_TITLE))
        yield self._written("ideas", 1, 1)
        worked_examples(self.report.section(WORKED_TITLE))
        yield self._written("examples", 1, 1)
        section = self.report.section(PICTURES_TITLE)
        for done, picture in enumerate(PICTURES, 1):
            picture(section)
            yield Step("pictures", done, len(PICTURES))
        self._write("The models are not trained yet.")
        yield from self._trained(reading)

    def _trained(self, reading: Reading) -> Generator[Step, None, None]:
        recipe = self.settings.recipe
        runners = contestants(recipe)
        done = dict.fromkeys((runner.name for runner in runners), 0)
        yield Step(ALL, 0, recipe.steps * len(runners))
        yield from (Step(name, 0, recipe.steps) for name in done)
        with contextlib.closing(run(runners, reading.corpus, recipe, self.settings.workers)) as events:
            for index, happened in events:
                name = runners[index].name
                if isinstance(happened, Outcome):
                    self.outcomes[index] = happened
                    self._write_results(reading, list(done))
                    done[name], loss = recipe.steps, happened.curve[-1].loss
                else:
                    # A model is done when it is measured, too.
                    done[name], loss = min(happened.step, recipe.steps - 1), happened.loss
                yield Step(name, done[name], recipe.steps, f"loss {loss:.2f}")
                yield Step(ALL, sum(done.values()), recipe.steps * len(runners))

    def _write_results(self, reading: Reading, names: list[str]) -> None:
        """The page with the results so far, made on a copy, since the next result changes all of them."""
        report, summary = copy.deepcopy((self.report, self.summary))
        finished = [self.outcomes[index] for index in sorted(self.outcomes)]
        summary.bullets(findings(finished, self.settings.recipe))
        results(report, finished, self.settings.recipe, reading)
        conditions(report, finished, self.settings.recipe, reading)
        missing = [name for index, name in enumerate(names) if index not in self.outcomes]
        report.status = f"This report is partial: not trained yet: {', '.join(missing)}." if missing else ""
        self._put(report)

    def _written(self, stage: str, done: int, total: int, note: str = "") -> Step:
        self._write("More stages follow.")
        return Step(stage, done, total, note)

    def _write(self, rest: str) -> None:
        self.report.status = f"This report is partial. {rest}"
        self._put(self.report)

    def _put(self, report: Report) -> None:
        report.write(self.settings.output)
        self.written = True

    def _writable(self) -> None:
        """Refuse at once an output that could only fail after the work."""
        path = Path(self.settings.output)
        name = repr(str(path))
        if not path.name or path.is_dir():
            raise ValueError(f"output must name a file; got the folder {name}. Add a file name.")
        if path.is_symlink():
            raise ValueError(f"output must not be a symbolic link; got {name}. Name the file itself.")
        if not path.parent.is_dir():
            raise ValueError(f"output must be in an existing folder; got {name}. Create the folder first.")
        if not os.access(path.parent, os.W_OK) or (path.exists() and not (path.is_file() and os.access(path, os.W_OK))):
            raise ValueError(f"output must be writable; got {name}. Choose another place.")
