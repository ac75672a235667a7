"""Report of a folder's results: settings, recommendations, verdicts, and the files that show them."""

from __future__ import annotations

import itertools
import math
import os
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from posenc.core.plain_file import write_whole
from posenc.lab import store
from posenc.lab.comparison import planned_runs
from posenc.lab.comparison.judge import Recommendation, Verdict, recommend
from posenc.lab.comparison.planned_runs import ComparisonPlan
from posenc.lab.comparison.setting import WORDS, Measure, Setting, metric_value, settings
from posenc.lab.engines.events import needed
from posenc.lab.result import Result
from posenc.lab.store import write_results_table
from posenc.lab.tasks.task_table import task_row

PICTURE = "report.png"


class ScoreTable(NamedTuple):
    """Table whose cells are text.

    Attributes:
        headers: Of the columns.
        rows: A cell for each column.
        numbers: Which columns hold numbers.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...]


def score_table(setting: Setting) -> ScoreTable:
    """Table of a setting with a row for each candidate, best first.

    It has mean and 95 % Student-t interval at every test length and of the mean training loss over all steps, effective
    length, steps to a training loss, size and time.

    Args:
        setting: To show.

    Returns:
        The table.
    """
    word = WORDS[setting.metric][0].split(" (")[0]
    lengths = setting.common.test_lengths
    headers = (
        f"encoding: {word}",
        *(f"at {length}" for length in lengths),
        "effective",
        "train. loss",
        f"steps to {setting.threshold:.3g}",
        "parameters",
        "own",
        "CPU s",
        *(() if setting.sweep is None else ("rate",)),
    )
    rows = [_row(setting, name, lengths) for name in _ranked(setting)]
    return ScoreTable(headers, tuple(rows), tuple(range(1, len(headers))))


def _ranked(setting: Setting) -> list[str]:
    """Candidates, best mean at the longest test length first."""
    measure = Measure(setting.metric, setting.common.test_lengths[-1])
    means = {name: setting.interval(name, measure).mean for name in setting.results}
    return sorted(means, key=lambda name: means[name], reverse=measure.higher_is_better)


def _row(setting: Setting, name: str, lengths: Sequence[int]) -> tuple[str, ...]:
    runs = list(setting.results[name].values())
    steps = setting.steps(name)
    scores = (str(setting.interval(name, Measure(setting.metric, length))) for length in lengths)
    return (
        name,
        *scores,
        str(setting.reach(name)),
        str(setting.interval(name, Measure(setting.metric))),
        f"{steps:g}" if math.isfinite(steps) else "never",
        f"{runs[0].parameters:,}",
        f"{runs[0].learned:,}",
        f"{sum(run.seconds for run in runs) / len(runs):.1f}",
        *(() if setting.sweep is None else (f"{runs[0].experiment.rate:g}",)),
    )


def write_events(folder: str | os.PathLike[str], settings: Sequence[Setting]) -> Path:
    """Write training curves and scores as TensorBoard event files, by tensorboardX.

    Args:
        folder: `tensorboard/` in it is written anew, with a run for each task, candidate and seed.
        settings: Of the comparison.

    Returns:
        The path of `tensorboard/`.

    Raises:
        ValueError: tensorboardX is not installed.
    """
    writer = needed("tensorboardX", "track").SummaryWriter
    target = Path(folder) / "tensorboard"
    shutil.rmtree(target, ignore_errors=True)
    for setting in settings:
        for name, runs in setting.results.items():
            for seed, run in runs.items():
                words = (setting.common.task, setting.common.identity[:4], name, f"seed {seed}")
                with writer(str(target / "-".join(re.sub(r"[^\w=.]+", "_", word) for word in words))) as events:
                    for point in run.curve:
                        events.add_scalar("loss/training", point.loss, point.step)
                    for score in run.scores:
                        events.add_scalar(
                            f"by_length/{setting.metric}", metric_value(score, setting.metric), score.length
                        )
    return target


@dataclass(frozen=True)
class Judged:
    """A setting with what is recommended for each measure, and the verdicts on all pairs."""

    setting: Setting
    recommendations: tuple[Recommendation, ...]
    verdicts: tuple[tuple[Measure, tuple[Verdict, ...]], ...]


@dataclass(frozen=True)
class ComparisonReport:
    """Contents of a folder of results.

    Attributes:
        judged: Each setting with its verdicts.
        finished: How many runs have a result, pilots among them.
        missing: Planned runs without a result.
        note: On a half-written line, or "".
    """

    judged: tuple[Judged, ...]
    finished: int
    missing: int
    note: str


def report(folder: str | os.PathLike[str], only: Collection[str] | None = None) -> ComparisonReport:
    """Read and judge the results of a folder.

    Args:
        folder: With `results.jsonl`.
        only: Identities of the runs to look at; all where None.

    Returns:
        The report.

    Raises:
        ValueError: There are no results, or damaged ones.
    """
    if not Path(folder).is_dir():
        raise ValueError(f"folder must hold results; {str(folder)!r} is no folder. Run `posenc compare` first.")
    stored, plan = store.read(folder), planned_runs.read_plan(folder)
    planned = plan.judged(stored.results)
    order = {each.identity: index for index, each in enumerate(planned)}
    kept = set(order) if only is None and plan.sweep is not None else only
    results = [result for name, result in stored.results.items() if kept is None or name in kept]
    results.sort(key=lambda result: order.get(result.experiment.identity, len(order)))
    if not results:
        raise ValueError(_nothing(folder, plan, stored.results))
    metric_of = {task: task_row(task).metric for task in {result.experiment.task for result in results}}
    wanted = {each.identity for each in planned if only is None or each.identity in only}
    finished, missing = len(results), len(wanted - stored.results.keys())
    if plan.sweep is not None:
        missing = plan.missing(stored.results)
        finished = plan.runs - missing
    return ComparisonReport(_judged(settings(results, metric_of, plan.sweep)), finished, missing, stored.note)


def _nothing(folder: str | os.PathLike[str], plan: ComparisonPlan, results: Mapping[str, Result]) -> str:
    """Reason why a folder has nothing to report."""
    if plan.sweep is not None and results:
        return (
            f"folder must hold results that are judged; {str(folder)!r} has {len(results)} pilots alone, which choose "
            "the learning rates. Run the same command again."
        )
    return f"folder must hold results; got none in {str(folder)!r}. Run `posenc compare` first."


def write_report(folder: str | os.PathLike[str], found: ComparisonReport) -> tuple[Path, Path]:
    """Write the picture and the table of all results, `report.png` and `results.parquet`.

    Args:
        folder: Of the results.
        found: Its report.

    Returns:
        The two paths.
    """
    from posenc.lab.comparison.comparison_picture import comparison_picture
    from posenc.plot.export import image

    data = image(comparison_picture([each.setting for each in found.judged]), "png", dpi=130).data
    return write_whole(Path(folder) / PICTURE, data), write_results_table(folder, store.read(folder).results.values())


def _judged(found: Sequence[Setting]) -> tuple[Judged, ...]:
    """Each setting with its verdicts, those of all settings and measures corrected together."""
    asked = [(setting, measure) for setting in found for measure in setting.measures]
    answers = iter(zip(asked, recommend(asked), strict=True))
    judged = []
    for setting in found:
        own = list(itertools.islice(answers, len(setting.measures)))
        judged.append(
            Judged(
                setting,
                tuple(recommendation for _, (recommendation, _) in own),
                tuple((measure, verdicts) for (_, measure), (_, verdicts) in own),
            )
        )
    return tuple(judged)
