"""`posenc report`: the results of a comparison as tables, verdicts and a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from posenc.cli.answer import Answer, Heading, Verb, attributes, columns
from posenc.lab.comparison import comparison_report
from posenc.lab.comparison.comparison_report import ComparisonReport, Judged, score_table, write_events
from posenc.lab.comparison.judge import chance_is_known, learned_nothing
from posenc.lab.comparison.setting import WORDS

LIMITS = (
    "A verdict holds for this budget, size and learning rate: orderings can change with each of them. Everything but "
    "the encoding is equal, and no learning rate was tuned for one encoding."
)
SWEPT = (
    "A verdict holds for this budget and size: orderings can change with each of them. Everything but the encoding and "
    "its learning rate is equal. The rate was chosen by the same rule for each, on seeds that are not judged."
)


@dataclass(frozen=True)
class ReportVerb(Verb):
    """Show what a folder of `posenc compare` holds: a table and verdicts for each task.

    Writes report.png and results.parquet into the folder.

    Some examples:
      posenc report comparison
      posenc report comparison --json
    """

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """The folder that --out of `posenc compare` named."""

    tensorboard: bool = False
    """Also write the training curves for TensorBoard; needs tensorboardX."""

    def run(self) -> Answer:
        found = comparison_report.report(self.folder)
        if self.tensorboard:
            write_events(self.folder, [judged.setting for judged in found.judged])
        return report_answer(self.folder, found)


def report_answer(folder: Path, found: ComparisonReport) -> Answer:
    """Write the files of a comparison report to `folder`, and return the report as an answer."""
    written = comparison_report.write_report(folder, found)
    return Answer(lambda: _facts(found, written), lambda: _lines(found, written))


def _lines(found: ComparisonReport, written: tuple[Path, ...]) -> Iterable[str]:
    for judged in found.judged:
        yield from _setting(judged)
    yield LIMITS if found.judged[0].setting.sweep is None else SWEPT
    if found.note:
        yield found.note
    if found.missing:
        planned = found.finished + found.missing
        yield f"{found.missing} of {planned} planned runs are missing: run the same command again."
    yield f"wrote {' and '.join(map(str, written))}"


def _setting(judged: Judged) -> Iterable[str]:
    yield Heading(judged.setting.conditions())
    yield from columns(*score_table(judged.setting), whole_names=True)
    for name, reason in learned_nothing(judged.setting).items():
        yield f"{name} learned nothing: {reason}."
    if not chance_is_known(judged.setting):
        yield "Not looked at: whether these runs learned more than chance, which they do not record."
    if floor := judged.setting.at_floor:
        yield (
            f"Not judged: {WORDS[judged.setting.metric][0]} at {', '.join(map(str, floor))}, where every encoding is "
            "at the floor, below 1 %."
        )
    for recommendation, (measure, verdicts) in zip(judged.recommendations, judged.verdicts, strict=True):
        yield recommendation.sentence()
        unit = "" if measure.length and judged.setting.metric != "loss" else " nats"
        for verdict in verdicts:
            if recommendation.rests_on(verdict):
                yield f"  {verdict.sentence(unit)}"
    yield ""


def _facts(found: ComparisonReport, written: tuple[Path, ...]) -> dict[str, Any]:
    settings = [_setting_facts(judged) for judged in found.judged]
    return {"settings": settings, **attributes(found, "finished", "missing", "note"), "files": written}


def _setting_facts(judged: Judged) -> dict[str, Any]:
    setting, (headers, rows, _) = judged.setting, score_table(judged.setting)
    return {
        "conditions": setting.conditions(),
        "experiment": setting.common,
        "seeds": setting.seeds,
        "table": [dict(zip(headers, row, strict=True)) for row in rows],
        "scores": {str(measure): setting.scores(measure) for measure in setting.measures},
        "recommendations": [
            {
                "measure": str(each.measure),
                "taken": each.taken,
                "says": each.sentence(),
                "best": each.best,
                "undecided": each.rivals,
                "worse": each.worse,
            }
            for each in judged.recommendations
        ],
        "at_floor": setting.at_floor,
        "chance_is_known": chance_is_known(setting),
        "learned_nothing": learned_nothing(setting),
        "verdicts": {str(measure): verdicts for measure, verdicts in judged.verdicts},
    }
