"""Runs that learned nothing in their budget, which no verdict may rest on."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from posenc.lab.comparison.setting import Setting
from posenc.lab.result import Result
from posenc.lab.statistics import student_interval

#: A loss below that of chance by less than this share of it may be the frequencies of few targets.
MARGIN = 0.01
#: With fewer seeds the interval is wide whatever was learned, so the mean decides; they have no verdict anyway.
SEEDS_OF_AN_INTERVAL = 5


def learned_nothing(setting: Setting) -> dict[str, str]:
    """Find the candidates that learned nothing, each with the reason.

    Steps that end within the warm-up are no training. Otherwise the loss at the shortest test length is compared with
    that of chance, the entropy of the targets' frequencies, seed by seed: the mean must lie below 99 % of it, with all
    of its 95 % interval from five seeds on. Runs that do not record chance are not judged by it.

    Args:
        setting: With the runs.

    Returns:
        A reason for each candidate that learned nothing.
    """
    one, length = setting.common, setting.common.test_lengths[0]
    if one.steps <= one.warmup:
        reason = f"its {one.steps} steps end within the warm-up of {one.warmup}"
        return dict.fromkeys(setting.results, reason)
    found = {name: _at_chance(list(runs.values()), length) for name, runs in setting.results.items()}
    return {name: reason for name, reason in found.items() if reason}


def chance_is_known(setting: Setting) -> bool:
    """Whether every run records the loss of chance at the shortest test length."""
    length = setting.common.test_lengths[0]
    return all(run.at(length).chance is not None for runs in setting.results.values() for run in runs.values())


def _at_chance(runs: Sequence[Result], length: int) -> str:
    """Reason why runs of a candidate learned nothing, or ""."""
    pairs = [(score.loss, score.chance) for score in (run.at(length) for run in runs) if score.chance]
    if not pairs:
        return ""
    interval = student_interval([loss - (1 - MARGIN) * chance for loss, chance in pairs])
    if (interval.high if len(pairs) >= SEEDS_OF_AN_INTERVAL else interval.mean) < 0:
        return ""
    loss, chance = (fmean(numbers) for numbers in zip(*pairs, strict=True))
    return f"its loss at {length}, {loss:.3f}, is not shown to be 1 % below that of chance, {chance:.3f}"
