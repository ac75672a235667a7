"""Pictures of the change that a position makes in a vector: before, after, and the difference."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from posenc.core import validation
from posenc.core.doors import Encoding, Params, RotaryEncoding
from posenc.inspect import PositionChange, position_change
from posenc.plot import canvas
from posenc.plot.fonts import literal


def rotated(
    encoding: RotaryEncoding | PositionChange,
    vector: Any = None,
    positions: Any = (0, 50, 99),
    *,
    params: Params | None = None,
    ax: Any = None,
    **keywords: Any,
) -> np.ndarray:
    """Draw the numbers of a vector before and after its rotation, a panel for each position.

    Args:
        encoding: An encoding that rotates, or the result of `posenc.inspect.position_change`; then the next three say
            nothing.
        vector: (head_dim,); the same normal numbers every time if left out.
        positions: Two or more positions.
        params: Learned parameters; drawn with seed 0 if left out.
        ax: As many Axes as positions; a new figure if left out.
        keywords: Options of `Axes.plot`, which draws the rotated vector.

    Returns:
        An array of Axes, one a position.

    Raises:
        TypeError: `encoding` does not rotate.
        ValueError: An argument breaks its rule; the message names it.
    """
    shown = encoding if isinstance(encoding, PositionChange) else None
    validation.instance("encoding", shown.encoding if shown else encoding, RotaryEncoding, canvas.ROTATES)
    shown = shown or _computed(encoding, vector, positions, params)
    axes = canvas.stacked(ax, len(shown.positions))
    for one, position, row in zip(axes, shown.positions, shown.encoded, strict=True):
        one.plot(shown.vector, color="black", linewidth=0.9, label="vector")
        one.plot(
            row, **{"color": canvas.COLOURS[1], "linewidth": 1.1, "linestyle": "--", "label": "rotated", **keywords}
        )
        canvas.finish(one, f"position {position:g}", "", "value")
    _head(axes, shown.encoding, {} if shown is encoding else params, has_own_axes=ax is None)
    canvas.legend(axes[0], [shown], ncols=2, loc="lower right", bbox_to_anchor=(1.0, 0.98), borderpad=0)
    return axes


def differences(
    encoding: Encoding | PositionChange,
    vector: Any = None,
    positions: Any = (0, 50, 99),
    *,
    params: Params | None = None,
    ax: Any = None,
    **keywords: Any,
) -> np.ndarray:
    """Draw how positions change a vector, against the first position (adds) or the vector itself (rotates).

    An encoding that adds has a panel for each position but the first, and the vector cancels; one that rotates has a
    panel for each. Above each quarter of the dimensions stands its share of the squared difference.

    Args:
        encoding: An encoding that adds or rotates, or the result of `posenc.inspect.position_change`; then the next
            three say nothing.
        vector: (width,); the same normal numbers every time if left out.
        positions: Two or more positions.
        params: Learned parameters; drawn with seed 0 if left out.
        ax: As many Axes as differences; a new figure if left out.
        keywords: Options of `Axes.plot`.

    Returns:
        An array of Axes, one a difference.

    Raises:
        TypeError: `encoding` neither adds nor rotates.
        ValueError: An argument breaks its rule; the message names it.
    """
    shown = encoding if isinstance(encoding, PositionChange) else _computed(encoding, vector, positions, params)
    axes = canvas.stacked(ax, len(shown.compared))
    for one, position, change, shares in zip(axes, shown.compared, shown.differences, shown.shares, strict=True):
        one.plot(change, **{"color": canvas.COLOURS[0], "linewidth": 1, **keywords})
        canvas.finish(one, f"position {position:g} minus {shown.against}", "", "difference")
        _mark(one, len(change), shares)
    _head(axes, shown.encoding, {} if shown is encoding else params, has_own_axes=ax is None)
    return axes


def _computed(encoding: Any, vector: Any, positions: Any, params: Params | None) -> PositionChange:
    return position_change(encoding, vector, canvas.positions_to_draw("positions", positions), params=params)


def _head(axes: np.ndarray, encoding: Encoding, params: Params | None, *, has_own_axes: bool) -> None:
    """Write the encoding above all panels of a figure of ours, and one label below them."""
    axes[-1].set_xlabel("dimension")
    if has_own_axes:
        axes[0].figure.suptitle(canvas.name(encoding, params=params), fontsize="medium")


def _mark(ax: Axes, width: int, shares: np.ndarray) -> None:
    """Shade every second part of the dimensions and write into each its share of the squared difference."""
    ax.margins(x=0, y=0.25)
    stops = np.cumsum([len(part) for part in np.array_split(np.arange(width), len(shares))])
    for part, (start, stop, share) in enumerate(zip([0, *stops[:-1]], stops, shares, strict=True)):
        if part % 2 == 0:
            ax.axvspan(start - 0.5, stop - 0.5, color="#f0f0f0", zorder=0)
        where = (start + stop - 1) / 2, 0.97
        look: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "ha": "center", "va": "top", "fontsize": "small"}
        ax.annotate(literal(f"{share:.1%}"), where, **look)
