"""Picture of ways to a longer context: losses at each length, or heat maps of length and depth."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posenc.lab.comparison.comparison_picture import run_style
from posenc.lab.extension_study.study_summary import StudySummary

#: Heat maps in a row.
ACROSS = 7


def extension_picture(summary: StudySummary) -> Figure:
    """Heat maps where answers are found at depths, lines otherwise."""
    return heat_maps(summary) if summary.finds else lines(summary)


def lines(summary: StudySummary) -> Figure:
    """A panel for each tuning: the mean of each way at each length, with a dot for each seed at the longest."""
    figure = Figure(figsize=(11, 5.4), layout="constrained")
    panels = figure.subplots(1, len(summary.tunings), squeeze=False, sharey=True)[0]
    for steps, panel in zip(summary.tunings, panels, strict=True):
        for way in summary.ranked(steps):
            _line(panel, summary, way, steps)
        panel.axvline(summary.study.experiment.length, color="0.6", linewidth=0.8, linestyle=":")
        panel.set(title=_title(steps), xlabel="tokens read (dotted: trained length)")
        panel.legend(fontsize="x-small", frameon=False, title="best first", title_fontsize="x-small")
    panels[0].set_ylabel("loss of the same last tokens (nats)")
    return figure


def _line(panel: Axes, summary: StudySummary, way: str, steps: int) -> None:
    lengths, index = summary.study.lengths, summary.names.index(way)
    style = run_style(index)
    means = [summary.interval(way, steps, length).mean for length in lengths]
    panel.plot(lengths, means, linewidth=1.2, markersize=4, label=way, **style)
    ends = [run.at(lengths[-1]) for run in summary.runs(way, steps)]
    panel.plot([lengths[-1]] * len(ends), ends, linestyle="", markersize=3, alpha=0.4, **style)


def heat_maps(summary: StudySummary) -> Figure:
    """A map for each way and tuning: length downwards, depth from left to right, the share found as a colour."""
    names, tunings = summary.names, summary.tunings
    blocks = -(-len(names) // ACROSS)
    rows = blocks * len(tunings)
    figure = Figure(figsize=(1.65 * ACROSS, 1.75 * rows + 0.5), layout="constrained")
    panels = figure.subplots(rows, ACROSS, squeeze=False)
    image: Any = None
    for index, panel in np.ndenumerate(panels):
        way, steps = index[0] // len(tunings) * ACROSS + index[1], tunings[index[0] % len(tunings)]
        if way < len(names):
            image = _map(panel, summary, names[way], steps, first=not index[1])
        else:
            panel.axis("off")
    figure.colorbar(image, ax=panels, label="share of needles found", shrink=0.6)
    return figure


def _map(panel: Axes, summary: StudySummary, way: str, steps: int, *, first: bool) -> Any:
    lengths = summary.study.lengths
    found = np.mean([[values for _, values in run.values] for run in summary.runs(way, steps)], 0)
    image = panel.imshow(found, vmin=0, vmax=1, aspect="auto", cmap="viridis", interpolation="nearest")
    trained = lengths.index(summary.study.experiment.length)
    panel.axhline(trained + 0.5, color="white", linewidth=0.8, linestyle=":")
    panel.set_title(f"{way}\n{f'tuned for {steps} steps' if steps else 'as trained'}", fontsize=7)
    panel.set_xticks([])
    panel.set_yticks(range(len(lengths)), map(str, lengths) if first else [], fontsize=6)
    panel.set_xlabel("start … end", fontsize=6)
    return image


def _title(steps: int) -> str:
    return f"after {steps} steps at the new length" if steps else "as trained"
