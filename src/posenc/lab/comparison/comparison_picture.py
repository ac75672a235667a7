"""Picture of a comparison: scores by test length, and training loss by step, with every run shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posenc.lab.comparison.setting import WORDS, Measure, Setting, metric_value

#: Colours that readers with any colour vision tell apart (Okabe and Ito 2008), and marks for more than eight.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#7F7F7F")
MARKS = "osD^vP*X"
#: Longer names are cut in the legend; the table has them whole.
LONGEST_NAME = 44


def comparison_picture(settings: Sequence[Setting]) -> Figure:
    """Draw a row for each setting: scores to the left, mean training loss to the right.

    There is a dot for each run; the means have 95 % Student-t intervals and a line through them. The legend stands
    beside both, where it covers no run.

    Args:
        settings: Of a comparison.

    Returns:
        A figure of matplotlib.
    """
    figure = Figure(figsize=(12.4, 3.6 * len(settings) + 0.4), layout="constrained")
    for setting, (scores, curves) in zip(settings, figure.subplots(len(settings), 2, squeeze=False), strict=True):
        _draw_scores(scores, setting)
        _draw_curves(curves, setting)
        handles, names = scores.get_legend_handles_labels()
        outside = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
        curves.legend(handles, names, fontsize="x-small", frameon=False, handlelength=3, **outside)
    return figure


def run_style(index: int) -> dict[str, Any]:
    """Colour and mark of a candidate."""
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKS[index // len(COLOURS) % len(MARKS)]}


def _line_style(index: int) -> str:
    """Solid line for the first use of each colour, dashes for later ones; curves have no marks."""
    return "-" if index < len(COLOURS) else "--"


def _draw_scores(axes: Axes, setting: Setting) -> None:
    lengths = setting.common.test_lengths
    for index, (name, runs) in enumerate(setting.results.items()):
        style = run_style(index)
        for run in runs.values():
            values = [metric_value(run.at(length), setting.metric) for length in lengths]
            axes.plot(lengths, values, linestyle="", alpha=0.35, markersize=4, **style)
        intervals = [setting.interval(name, Measure(setting.metric, length)) for length in lengths]
        means, half = [each.mean for each in intervals], [each.high - each.mean for each in intervals]
        label = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        style |= {"linestyle": _line_style(index), "linewidth": 1.6, "elinewidth": 1.0}
        axes.errorbar(lengths, means, half, capsize=3, markersize=5, label=label, **style)
    axes.axvline(setting.common.length, color="0.6", linewidth=0.8, linestyle=":")
    axes.set_xscale("log", base=2)
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.minorticks_off()
    one = setting.common
    title = f"{one.task}: {one.model}, {one.steps} steps, {len(setting.seeds)} seeds\n"
    title += "bars: 95 % intervals; dotted: trained length"
    axes.set(xlabel="test length", ylabel=WORDS[setting.metric][0], title=title)
    axes.title.set_fontsize(9)
    if WORDS[setting.metric][1] and setting.metric != "bleu":
        axes.set_ylim(-0.03, 1.03)


def _draw_curves(axes: Axes, setting: Setting) -> None:
    """Means over the seeds, with a band from the lowest to the highest run."""
    for index, runs in enumerate(setting.results.values()):
        curves = [run.curve for run in runs.values()]
        count = min(map(len, curves))
        losses = np.array([[point.loss for point in curve[:count]] for curve in curves])
        steps = [point.step for point in curves[0][:count]]
        colour = run_style(index)["color"]
        axes.plot(steps, losses.mean(0), color=colour, linewidth=1.4, linestyle=_line_style(index))
        axes.fill_between(steps, losses.min(0), losses.max(0), color=colour, alpha=0.15, linewidth=0)
    axes.set(xlabel="step", ylabel="training loss (nats)", title="band: lowest to highest run")
    axes.title.set_fontsize(9)
    axes.set_ylim(bottom=0)
