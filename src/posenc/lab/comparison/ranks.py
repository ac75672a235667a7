"""Ranks of encodings over several tasks, with their intervals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean

from matplotlib.figure import Figure

from posenc.lab.comparison.setting import Setting
from posenc.lab.statistics import Interval, student_interval

#: What the same encoding states differently for another task: its length, and whether it sees both ways.
_OF_TASK = re.compile(r", (?:length=\d+|bidirectional=(?:True|False)|outside='clamp')| ×[\d.]+$")


def name_over_tasks(candidate: str) -> str:
    """Name that a candidate has in every task.

    Example:
        >>> name_over_tasks("Learned(dim=64, length=32, outside='clamp') ×10")
        'Learned(dim=64)'
    """
    return _OF_TASK.sub("", candidate)


def ranks(scores: Mapping[str, float], *, higher_is_better: bool) -> dict[str, float]:
    """Rank of each name, 1 for the best; equal scores share the mean of their ranks.

    Example:
        >>> ranks({"a": 0.5, "b": 0.9, "c": 0.5}, higher_is_better=True)
        {'a': 2.5, 'b': 1.0, 'c': 2.5}
    """
    sign = -1 if higher_is_better else 1
    keys = {name: sign * score for name, score in scores.items()}
    return {
        name: 1 + sum(other < key for other in keys.values()) + (sum(other == key for other in keys.values()) - 1) / 2
        for name, key in keys.items()
    }


def mean_ranks(settings: Sequence[Setting], place: int = 1) -> dict[str, Interval]:
    """Mean rank of each encoding over tasks, with its 95 % Student-t interval over the seeds.

    For each seed the encodings are ranked in every task, at one of the measures that are judged there, and the ranks of
    a seed are averaged over the tasks. Encodings and seeds that some task lacks are left out, and with them every rank
    is among the same encodings.

    Args:
        settings: One for each task.
        place: Of the measure among those of its setting: 0 at the shortest test length, 1 at the longest.

    Returns:
        Intervals by name, best first; none with fewer than two seeds.
    """
    scored = []
    for setting in settings:
        measure = setting.measures[min(place, len(setting.measures) - 2)]
        named = {name_over_tasks(name): values for name, values in setting.scores(measure).items()}
        scored.append((measure, named))
    names = [name for name in (scored[0][1] if scored else ()) if all(name in named for _, named in scored)]
    seeds = set.intersection(*(set(named[name]) for _, named in scored for name in names)) if names else set[int]()
    if len(seeds) < 2:
        return {}
    means: dict[str, list[float]] = {name: [] for name in names}
    for seed in sorted(seeds):
        of_tasks = [
            ranks({name: named[name][seed] for name in names}, higher_is_better=measure.higher_is_better)
            for measure, named in scored
        ]
        for name in names:
            means[name].append(fmean(each[name] for each in of_tasks))
    found = {name: student_interval(values) for name, values in means.items()}
    return dict(sorted(found.items(), key=lambda item: item[1].mean))


def rank_picture(found: Mapping[str, Interval], tasks: int) -> Figure:
    """Draw mean ranks with their intervals, the best on top.

    Args:
        found: Of `mean_ranks`.
        tasks: Over how many tasks.

    Returns:
        A figure of matplotlib.
    """
    figure = Figure(figsize=(7.5, 0.34 * len(found) + 1.1), layout="constrained")
    axes = figure.subplots()
    for row, each in enumerate(found.values()):
        axes.errorbar(each.mean, row, xerr=[[each.mean - each.low], [each.high - each.mean]], fmt="o", color="#0072B2")
    axes.set_yticks(range(len(found)), list(found))
    axes.invert_yaxis()
    axes.set_xlim(0.5, len(found) + 0.5)
    axes.set_xlabel(f"mean rank over {tasks} {'task' if tasks == 1 else 'tasks'}, 1 is best; bars: 95 % over seeds")
    return figure
