"""Picture of the positions that a running model used: tokens of all calls in order, markers for groups of layers."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from posenc.core import validation
from posenc.diagnosis.tracing.position_trace import PositionTrace
from posenc.diagnosis.tracing.trace_records import places_together
from posenc.plot import canvas
from posenc.plot.fonts import literal


def position_schedule(traced: PositionTrace, *, row: int = 0, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw the positions of the keys that each call of a model used, against the tokens in the order of reading.

    Expected positions are a grey line. Each group of layers that used the same positions has its own markers;
    padding has none.

    Args:
        traced: The result of `posenc.transformers.trace`.
        row: Row of the batch.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.plot` for the markers.

    Returns:
        The Axes.

    Raises:
        TypeError: `traced` is something else.
        ValueError: The trace is empty, or has no such row.
    """
    validation.instance("traced", traced, PositionTrace, "what posenc.transformers.trace yields")
    if not traced.calls:
        raise ValueError("traced must hold a call of the model; got none. Call the model inside `with trace(model)`.")
    validation.integer("row", row, 0, min(len(call.real) for call in traced.calls) - 1)
    ax = canvas.single(ax, (7.2, 4.2))
    for call in traced.calls:
        tokens = call.start + np.arange(call.count)
        ax.plot(tokens, call.expected[row, :, 0], color="0.8", linewidth=6, marker="o", markersize=7, zorder=1,
                label="meant" if call.number == 0 else None)  # fmt: skip
        if call.number:
            ax.axvline(call.start - 0.5, color="0.9", linewidth=0.8, zorder=0)
    for number, (name, points) in enumerate(_series(traced, row).items()):
        tokens, used = np.array(points).T
        look = {"marker": "o.x+^"[number % 5], "linestyle": "", "markersize": 4, "color": canvas.colour(number)}
        ax.plot(tokens, used, **{**look, **keywords}, label=literal(name), zorder=2)
    ax.legend(frameon=False, fontsize="small")
    return canvas.finish(ax, f"positions used, row {row}", "token, in the order of reading", "position")


def _series(traced: PositionTrace, row: int) -> dict[str, list[tuple[float, float]]]:
    """Points (token, position) by label; layers that used the same positions share a label."""
    own: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for layer in traced.layers:
        call = traced.calls[layer.call]
        used = layer.keys if layer.keys.size else layer.queries
        if layer.kind in ("none", "biases") or not used.size:
            continue
        axes = ("",) if used.shape[-1] == 1 else tuple(f", axis {axis}" for axis in range(used.shape[-1]))
        for axis, name in enumerate(axes):
            points = [
                (float(call.start + token), float(used[row, 0, token, axis])) for token in np.flatnonzero(call.new[row])
            ]
            own.setdefault((name, layer.place), []).extend(points)
    same: dict[tuple[tuple[float, float], ...], dict[str, list[str]]] = {}
    for (name, place), points in own.items():
        same.setdefault(tuple(points), {}).setdefault(name, []).append(place)
    return {
        "; ".join(places_together(places) + name for name, places in alike.items()): list(points)
        for points, alike in same.items()
    }
