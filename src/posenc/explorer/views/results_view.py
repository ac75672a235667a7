"""A folder of `posenc compare`, as data. The command line names the folder: no request of the page reads a path."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from posenc.lab.comparison.comparison_report import Judged, report, score_table
from posenc.lab.comparison.setting import WORDS, Measure, Setting


def results(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Results of a folder: scores by length, training curves, a table and recommendations for each task."""
    found = report(folder)
    return {
        "settings": [_setting(judged) for judged in found.judged],
        "finished": found.finished,
        "missing": found.missing,
        "note": found.note,
        "code": f"from posenc.lab.comparison.comparison_report import report\n\nfound = report({os.fspath(folder)!r})",
    }


def _setting(judged: Judged) -> dict[str, Any]:
    setting = judged.setting
    headers, rows, _ = score_table(setting)
    return {
        "task": setting.common.task,
        "conditions": setting.conditions(),
        "metric": WORDS[setting.metric][0],
        "lengths": list(setting.common.test_lengths),
        "candidates": [_candidate(setting, name) for name in setting.results],
        "table": {"headers": list(headers), "rows": [list(row) for row in rows]},
        "recommendations": [each.sentence() for each in judged.recommendations],
    }


def _candidate(setting: Setting, name: str) -> dict[str, Any]:
    """Means over the seeds: of the score at each test length, and of the training loss at each step."""
    curves = [run.curve for run in setting.results[name].values()]
    return {
        "name": name,
        "scores": [setting.interval(name, Measure(setting.metric, each)).mean for each in setting.common.test_lengths],
        "steps": [point.step for point in curves[0]],
        "losses": np.mean([[point.loss for point in curve] for curve in curves], axis=0).tolist(),
    }
