"""`posenc tour`: positional encoding at work on real text, in one page."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from posenc.cli.answer import Answer, Verb
from posenc.cli.terminal import say
from posenc.core.text_lines import escaped
from posenc.explorer.lesson.journey import ALL, STEPS, Journey, Settings, StageProgress
from posenc.explorer.lesson.orders import PAIRS
from posenc.lab.tour_plan import NAMES, contexts

INTERRUPTED = 130
#: What the tour needs beyond the mathematics, and what installs it.
NEEDED = ("tokenizers", "torch")


@dataclass(frozen=True)
class TourVerb(Verb):
    """Write the lesson: one page to touch, from two sentences to six small models that differ in nothing else.

    The models are trained while you wait (under three minutes on two cores). The page works offline, has a mode of
    slides, and asks before it shows. Ctrl-C leaves a whole page of what was done so far.

    Some examples:
      posenc tour
      posenc tour --text my-book.txt --output book.html
      posenc tour --sentences "Dog bites man" "Man bites dog"
      posenc tour --seed 1 --steps 2000
    """

    text: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """UTF-8 text to train on, 4,000 characters or more; English that ships with Python if left out."""

    sentences: Annotated[tuple[str, ...], tyro.conf.arg(metavar="SENTENCE")] = ()
    """Two sentences, or several twos, of the same words in two orders."""

    output: Annotated[Path, tyro.conf.arg(metavar="FILE")] = Path("tour.html")
    """The page to write."""

    seed: Annotated[int, tyro.conf.arg(metavar="INT")] = 0
    """Decides initial weights, order of the data and generated text."""

    steps: Annotated[int, tyro.conf.arg(metavar="INT")] = STEPS
    """Training steps for each model."""

    def run(self) -> Answer:
        _installed()
        journey = Journey(_settings(self))
        began, code = time.monotonic(), 0
        try:
            with contextlib.closing(journey.steps()) as steps:
                _show_progress(steps)
        except KeyboardInterrupt:
            code = INTERRUPTED
        seconds = time.monotonic() - began
        done = f"{journey.settings.output} is ready, after {seconds:.0f} seconds. Open it in a browser."
        _report(f"Stopped. {_what_is_left(journey)}" if code else done)
        return Answer(lambda: _figures(journey, seconds), list, code)


def _installed() -> None:
    import importlib.util

    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(
            f"tour needs {', '.join(missing)}. Install what is missing with: pip install {' '.join(missing)}"
        )


def _settings(options: TourVerb) -> Settings:
    if len(options.sentences) % 2:
        raise ValueError(
            f"sentences must come in pairs, the same words in two orders; got {len(options.sentences)}. "
            "Put each sentence in quotes."
        )
    pairs = tuple(zip(options.sentences[::2], options.sentences[1::2], strict=True))
    return Settings(options.text, pairs or PAIRS, options.output, options.seed, options.steps)


def _what_is_left(journey: Journey) -> str:
    """Sentence on what an interrupted tour has written."""
    output = journey.settings.output
    if not journey.written:
        return "Nothing was written."
    return f"{output} holds a partial page, with {len(journey.models)} of {len(NAMES)} models trained."


def _report(line: str) -> None:
    """Print a line to stderr, apart from the JSON on stdout."""
    say(escaped(line))


def _show_progress(steps: Iterator[StageProgress]) -> None:
    """Draw a bar for each stage and each model, with the time left; plain lines where there is no terminal."""
    if not sys.stderr.isatty():
        _as_plain_lines(steps)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<12}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    times = (TextColumn("left"), TimeRemainingColumn(), TextColumn("taken"), TimeElapsedColumn())
    note = TextColumn("{task.fields[note]}", markup=False)
    with Progress(*columns, *times, note, console=Console(stderr=True)) as progress:
        bars: dict[str, Any] = {}
        for step in steps:
            if step.stage not in bars:
                bars[step.stage] = progress.add_task(step.stage, total=step.total, note="", start=False)
            if step.done:
                progress.start_task(bars[step.stage])
            progress.update(bars[step.stage], completed=step.done, note=step.note)


def _as_plain_lines(steps: Iterator[StageProgress]) -> None:
    """Print a line for each finished stage, and for each quarter of all training."""
    quarter = 0
    for step in steps:
        if step.stage == ALL and 4 * step.done // step.total > quarter:
            quarter = 4 * step.done // step.total
            _report(f"{step.stage}: {step.done} of {step.total} steps")
        elif step.stage != ALL and step.done == step.total:
            _report(f"{step.stage}: done{', ' if step.note else ''}{step.note}")


def _figures(journey: Journey, seconds: float) -> dict[str, Any]:
    """Numbers behind the page."""
    models = [
        {
            "name": name,
            "encoding": model.encoding,
            "parameters": model.result.parameters,
            "training_loss": model.result.curve[-1].loss,
            "loss_by_context": dict(zip(contexts(model.experiment), model.losses.mean(0).tolist(), strict=True)),
            "sample_tokens": model.sample,
            "experiment": model.experiment.fields(),
        }
        for name, model in sorted(journey.models.items(), key=lambda item: NAMES.index(item[0]))
    ]
    return {"output": journey.settings.output, "seconds": round(seconds, 1), "models": models}
