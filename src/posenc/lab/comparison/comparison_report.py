"""All that a folder's results say: settings, recommendations, verdicts; and the files that show them."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from posenc.lab import store
from posenc.lab.comparison import planned_runs
from posenc.lab.comparison.judge import Verdict
from posenc.lab.comparison.measures import Measure
from posenc.lab.comparison.recommendation import Recommendation, recommend
from posenc.lab.comparison.setting import Setting, settings
from posenc.lab.parquet import write_parquet
from posenc.lab.tasks.task_table import task_row
from posenc.lab.write_whole import write_whole

PICTURE = "report.png"


@dataclass(frozen=True)
class Judged:
    """A setting with what is recommended for each measure, and the verdicts on all pairs."""

    setting: Setting
    recommendations: tuple[Recommendation, ...]
    verdicts: tuple[tuple[Measure, tuple[Verdict, ...]], ...]


@dataclass(frozen=True)
class ComparisonReport:
    """What a folder holds.

    Args:
        missing: Planned runs without a result.
        note: On a half-written line, or "".
    """

    judged: tuple[Judged, ...]
    finished: int
    missing: int
    note: str


def report(folder: str | os.PathLike[str], only: Collection[str] | None = None) -> ComparisonReport:
    """Read and judge the results of a folder; `only`: the identities of runs to look at."""
    if not Path(folder).is_dir():
        raise ValueError(f"folder must hold results; {str(folder)!r} is no folder. Run `posenc compare` first.")
    stored, planned = store.read(folder), planned_runs.planned_experiments(folder)
    results = [result for name, result in stored.results.items() if only is None or name in only]
    order = {each.identity: index for index, each in enumerate(planned)}
    results.sort(key=lambda result: order.get(result.experiment.identity, len(order)))
    if not results:
        raise ValueError(f"folder must hold results; got none in {str(folder)!r}. Run `posenc compare` first.")
    metric_of = {task: task_row(task).metric for task in {result.experiment.task for result in results}}
    wanted = {each.identity for each in planned if only is None or each.identity in only}
    judged = tuple(_judged(setting) for setting in settings(results, metric_of))
    return ComparisonReport(judged, len(results), len(wanted - stored.results.keys()), stored.note)


def write_report(folder: str | os.PathLike[str], found: ComparisonReport) -> tuple[Path, Path]:
    """The picture and the table of all results, `report.png` and `results.parquet`, in the folder."""
    from posenc.lab.comparison.comparison_picture import comparison_picture
    from posenc.plot.export import image

    data = image(comparison_picture([each.setting for each in found.judged]), "png", dpi=130).data
    return write_whole(Path(folder) / PICTURE, data), write_parquet(folder)


def _judged(setting: Setting) -> Judged:
    found = [(measure, recommend(setting, measure)) for measure in setting.measures]
    return Judged(
        setting,
        tuple(recommendation for _, (recommendation, _) in found),
        tuple((measure, verdicts) for measure, (_, verdicts) in found),
    )
