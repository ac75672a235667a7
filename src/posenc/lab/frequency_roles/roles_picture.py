"""Picture of the roles of frequencies: costs by pair, and maps of heads and frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posenc.lab.frequency_roles.roles import EFFECTS, PairChange
from posenc.lab.frequency_roles.roles_summary import TAKES, RolesSummary

#: Colours that readers with any colour vision tell apart (Okabe and Ito 2008).
COLOURS = {"stopped": "#0072B2", "averaged": "#E69F00", "removed": "#7F7F7F"}
#: More rows of heads than this are named by every so many.
NAMED_ROWS = 24


def roles_picture(summary: RolesSummary) -> Figure:
    """Draw what each pair costs, the share of |q||k| by head and pair, and costs by layer and head if measured."""
    local = any(change.layer is not None for change, _ in summary.first.changes)
    figure = Figure(figsize=(11, 7.2 if local else 3.8), layout="constrained")
    upper, *lower = figure.subfigures(2 if local else 1, 1, squeeze=False)[:, 0]
    costs, shares = upper.subplots(1, 2, width_ratios=(1.3, 1))
    _draw_costs(costs, summary)
    _draw_shares(shares, summary)
    if lower:
        _draw_maps(lower[0], summary)
    return figure


def _draw_costs(axes: Axes, summary: RolesSummary) -> None:
    """Bars for each pair, with a dot for each seed."""
    pairs = np.arange(summary.first.pairs)
    for index, effect in enumerate(EFFECTS):
        costs = np.array([[each.loss_of(PairChange(effect, (int(pair),))) for pair in pairs] for each in summary.roles])
        place = pairs + (index - 1) * 0.27
        axes.bar(place, costs.mean(0), 0.25, color=COLOURS[effect], label=f"{effect}: {TAKES[effect]}")
        if len(costs) > 1:
            axes.plot(np.tile(place, len(costs)), costs.ravel(), ".", color="black", markersize=2.5, alpha=0.6)
    axes.axhline(0, color="0.4", linewidth=0.8)
    axes.set_xticks(pairs[:: max(1, len(pairs) // 16)])
    axes.set(xlabel="pair, from the fastest", ylabel="loss added (nats)", title="A pair changed in all layers")
    axes.legend(frameon=False, fontsize="small")


def _draw_shares(axes: Axes, summary: RolesSummary) -> None:
    rows = [(layer.number, head) for layer in summary.first.layers for head in range(layer.heads)]
    shares = np.mean([_padded([s for layer in each.layers for s in layer.shares]) for each in summary.roles], 0)
    image = axes.imshow(shares, aspect="auto", cmap="viridis", vmin=0, interpolation="nearest")
    _name_rows(axes, rows)
    axes.set(xlabel="pair, from the fastest", title="Share of |q||k|")
    axes.figure.colorbar(image, ax=axes)


def _draw_maps(part: Any, summary: RolesSummary) -> None:
    """A map of costs for each effect: layers or heads downwards, pairs from left to right."""
    rows = list(dict.fromkeys((c.layer, c.head) for c, _ in summary.first.changes if c.layer is not None))
    maps = {effect: np.full((len(rows), summary.first.pairs), np.nan) for effect in EFFECTS}
    for change, _ in summary.first.changes:
        if change.layer is not None:
            maps[change.effect][rows.index((change.layer, change.head)), change.pairs[0]] = summary.loss(change).mean
    most = max(float(np.nanmax(np.abs(each))) for each in maps.values()) or 1.0
    panels = part.subplots(1, len(maps), sharey=True)
    for panel, (effect, costs) in zip(panels, maps.items(), strict=True):
        image = panel.imshow(costs, aspect="auto", cmap="RdBu_r", vmin=-most, vmax=most, interpolation="nearest")
        panel.set(title=f"{effect}, one at a time", xlabel="pair")
    _name_rows(panels[0], rows)
    part.colorbar(image, ax=panels, label="loss added (nats)")


def _name_rows(axes: Axes, rows: list[tuple[Any, Any]]) -> None:
    """Name rows "layer.head", or by the layer alone."""
    step = max(1, len(rows) // NAMED_ROWS)
    names = [str(layer) if head is None else f"{layer}.{head}" for layer, head in rows]
    axes.set_yticks(range(0, len(rows), step), names[::step], fontsize=7)
    axes.set_ylabel("layer" if rows and rows[0][1] is None else "layer.head")


def _padded(rows: list[tuple[float, ...]]) -> np.ndarray:
    """Rows of different length as an array, NaN behind the short ones."""
    most = max(map(len, rows))
    return np.array([[*row, *([np.nan] * (most - len(row)))] for row in rows])
