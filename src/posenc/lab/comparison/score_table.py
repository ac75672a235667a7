"""A setting as a table: a row for each contestant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from posenc.lab.comparison.measures import WORDS, Measure
from posenc.lab.comparison.setting import Setting


class ScoreTable(NamedTuple):
    """Headers, rows, and which columns hold numbers."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...]


def score_table(setting: Setting) -> ScoreTable:
    """Mean and 95 % Student-t interval at every test length, and of the training loss over all steps, which is the area under its curve; effective length, steps to a training loss, size and time."""
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
    )
    rows = [_row(setting, name, lengths) for name in _ranked(setting)]
    return ScoreTable(headers, tuple(rows), tuple(range(1, len(headers))))


def _ranked(setting: Setting) -> list[str]:
    """Contestants, best mean at the longest test length first."""
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
    )
