"""Picture of the trained claims: numbers of every seed, intervals of the means, and the margins to be exceeded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posenc.lab.claims.claim import Claim, ClaimFinding
from posenc.lab.comparison.setting import WORDS
from posenc.lab.tasks.task import Metric
from posenc.lab.tasks.task_table import task_row

COLOURS = {"supported": "#0072B2", "contradicted": "#D55E00", "undecided": "#7F7F7F", "not testable": "#BFBFBF"}


class ClaimRow(NamedTuple):
    """A number of a claim, with its value for each seed."""

    label: str
    values: tuple[float, ...]
    low: float
    high: float
    margin: float
    verdict: str


def claims_picture(decided: Mapping[str, tuple[Claim, ClaimFinding]]) -> Figure:
    """Draw a panel for each unit with a row for each number.

    Blue is supported, red contradicted, grey undecided, light grey not testable.

    Args:
        decided: Trained claims and their findings, by name.

    Returns:
        A figure of matplotlib.
    """
    panels: dict[Metric, list[ClaimRow]] = {}
    for name, (claim, finding) in decided.items():
        panels.setdefault(task_row(claim.experiments[0].task).metric, []).extend(_claim_rows(name, finding))
    heights = [len(rows) for rows in panels.values()]
    figure = Figure(figsize=(10, 0.33 * sum(heights) + 0.9 * len(heights) + 0.3), layout="constrained")
    axes = figure.subplots(
        len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": [each + 1.5 for each in heights]}
    )
    for (metric, rows), panel in zip(panels.items(), axes[:, 0], strict=True):
        _draw(panel, rows, f"difference in {WORDS[metric][0]}")
    return figure


def _claim_rows(name: str, finding: ClaimFinding) -> list[ClaimRow]:
    figures = dict(finding.figures)
    shown, words = name.replace("_", " "), dict(finding.parts)
    return [
        ClaimRow(
            f"{shown}: {number}" if len(finding.runs) > 1 else shown,
            tuple(value for _, value in by_seed),
            figures[f"{number}, from"],
            figures[f"{number}, to"],
            figures["margin"],
            words[number],
        )
        for number, by_seed in finding.runs
    ]


def _draw(axes: Axes, rows: list[ClaimRow], unit: str) -> None:
    for index, row in enumerate(rows):
        colour = COLOURS[row.verdict]
        axes.plot([row.low, row.high], [index, index], color=colour, linewidth=5, alpha=0.3, solid_capstyle="butt")
        axes.plot(row.values, [index] * len(row.values), "o", color=colour, markersize=4, markerfacecolor="none")
        axes.plot([row.margin] * 2, [index - 0.4, index + 0.4], color="black", linewidth=1.2)
    axes.set_yticks(range(len(rows)), [row.label for row in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.set_xlabel(f"{unit}; bar: 99.875 % interval, black: margin", fontsize=8)
    axes.tick_params(axis="x", labelsize=7)
