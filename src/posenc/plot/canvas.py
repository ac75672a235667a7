"""Figures, colours, titles and checks that every picture shares.

No picture touches pyplot: a new Figure belongs to nobody but its caller, so no backend is chosen, nothing is shown and
nothing is left open. A figure is reached as `axes.figure`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posenc.core import arrays, validation
from posenc.core.doors import Encoding, Params
from posenc.core.text_lines import short
from posenc.plot.fonts import literal

#: Okabe and Ito's colours, told apart by every common kind of colour vision; black is kept for references.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
#: Line styles take turns with the colours, so that a picture also works in grey.
STYLES = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)))
#: For values around zero: blue below, red above.
DIVERGING = "RdBu_r"
#: For values from low to high; ordered also in grey.
SEQUENTIAL = "viridis"
#: Width and height in inches: letters stay readable where two pictures stand side by side on a page.
SIZE = (5.2, 3.4)
#: What the message asks for when an encoding came in by another door.
ADDS = "an encoding that adds, such as Sinusoidal(dim=8)"
ROTATES = "an encoding that rotates, such as RoPE(dim=8)"
BIASES = "an encoding that biases, such as ALiBi(heads=8)"
#: More places than this are no picture any more.
MOST = 20_000


def new_figure(size: tuple[float, float]) -> Figure:
    """Figure of this size in inches, or as wide as `figure.figsize`, where that is not matplotlib's default.

    A picture of the usual size takes both its sides; others, whose panels need their room, keep their shape.
    """
    width, height = mpl.rcParams["figure.figsize"]
    if [width, height] == list(mpl.rcParamsDefault["figure.figsize"]):
        return Figure(figsize=size, layout="constrained")
    return Figure(figsize=(width, height if size == SIZE else width * size[1] / size[0]), layout="constrained")


def single(ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
    """Axes of the caller, or those of a new figure."""
    if ax is None:
        return new_figure(size).add_subplot()
    target: Axes = validation.instance("ax", ax, Axes, "a matplotlib Axes")
    return target


def several(
    ax: Any, rows: int, columns: int, size: tuple[float, float], *, sharex: bool = False, sharey: bool = False
) -> np.ndarray:
    """Axes in one array, rows·columns of them, the caller's or those of a new figure."""
    if ax is None:
        figure = new_figure(size)
        return np.asarray(figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey)).reshape(-1)
    target = np.asarray(ax, dtype=object).reshape(-1)
    if len(target) != rows * columns or not all(isinstance(one, Axes) for one in target):
        raise ValueError(
            f"ax must be an array of {rows * columns} matplotlib Axes, one for each panel; got {validation.shown(ax)}. "
            "Give that many."
        )
    return target


def stacked(ax: Any, count: int) -> np.ndarray:
    """Panels one above the other, with the same scales."""
    return several(ax, count, 1, (5.2, 1.5 * count + 0.6), sharex=True, sharey=True)


def colour(index: int) -> str:
    """Colour of a line by its index."""
    return COLOURS[index % len(COLOURS)]


def style(index: int) -> Any:
    """Style of a line by its index."""
    return STYLES[index % len(STYLES)]


def positions_to_draw(name: str, value: Any) -> np.ndarray:
    """Positions to draw, as a row of numbers: a count stands for 0 … count-1."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return np.arange(validation.integer(name, value, 1, MOST))
    array = arrays.numbers_on_host(name, value)
    if array.ndim != 1 or not 1 <= array.size <= MOST:
        raise ValueError(
            f"{name} must be a count or a row of 1 to {MOST} numbers; got shape {array.shape}. Draw one row."
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers; got {validation.shown(value)}. Remove the others.")
    return array


def as_float64(values: Any) -> np.ndarray:
    """Values of any library as float64 on the host."""
    return np.asarray(arrays.to_numpy(values), dtype=np.float64)


def name(encoding: Encoding, most: int = 64, *, params: Params | None = None) -> str:
    """Title of an encoding: its class, the fields that are not at their defaults, and whether it is untrained."""
    text = short(encoding)
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return literal(f"{cut}, untrained" if params is None and encoding.shapes else cut)


def draw_heatmap(
    ax: Axes, values: np.ndarray, rows: np.ndarray, columns: np.ndarray, label: str, keywords: dict[str, Any]
) -> Any:
    """Draw a heat map with a colour bar, the first row on top, and axes in the numbers of `rows` and `columns`."""
    left, right = _edges(columns)
    top, bottom = _edges(rows)
    image = ax.imshow(
        values, **{"aspect": "auto", "interpolation": "nearest", "extent": (left, right, bottom, top), **keywords}
    )
    ax.figure.colorbar(image, ax=ax, label=label)
    return image


def draw_square(
    ax: Axes | None, values: np.ndarray, positions: np.ndarray, label: str, keywords: dict[str, Any]
) -> Axes:
    """Draw a heat map of values (positions, positions) with square cells, and return its Axes."""
    ax = single(ax, (4.6, 3.8))
    draw_heatmap(ax, values, positions, positions, label, {"cmap": SEQUENTIAL, "aspect": "equal", **keywords})
    return ax


def draw_numbers(ax: Axes, values: np.ndarray, written: Callable[[Any], str], light: Callable[[Any], bool]) -> None:
    """Every value in its cell, in white where `light` says that the cell is dark."""
    for (row, column), value in np.ndenumerate(values):
        colour = "white" if light(value) else "black"
        ax.text(column, row, literal(written(value)), ha="center", va="center", fontsize="x-small", color=colour)


def centred(values: np.ndarray) -> dict[str, Any]:
    """Colours for values around zero: white is zero."""
    most = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    return {"cmap": DIVERGING, "vmin": -most, "vmax": most}


def even(name: str, values: np.ndarray) -> np.ndarray:
    """Check that numbers are evenly spaced, as the rows of a heat map must be, and return them."""
    steps = np.diff(values)
    if steps.size and (steps[0] == 0 or not np.allclose(steps, steps[0])):
        raise ValueError(
            f"{name} must be evenly spaced for a heat map; got {validation.shown(values.tolist())}. Give a range."
        )
    return values


def _edges(values: np.ndarray) -> tuple[float, float]:
    half = float(values[1] - values[0]) / 2 if len(values) > 1 else 0.5
    return float(values[0]) - half, float(values[-1]) + half


def legend(ax: Axes, entries: Sequence[Any], **keywords: Any) -> None:
    """Draw a legend where there is something to tell apart."""
    if entries:
        ax.legend(**{"frameon": False, "fontsize": "small", **keywords})


def position_count(length: float) -> str:
    """Format a number of positions for a label: whole from 1,000 on, up to four significant digits below."""
    return f"{length:,.0f}" if length >= 1000 else f"{length:.4g}"


def spread(name: str, chosen: Sequence[int] | None, count: int, most: int) -> list[int]:
    """The chosen indices below `count`; if none are given, at most `most` of them from the first to the last."""
    if chosen is None:
        return sorted({round(tick) for tick in np.linspace(0, count - 1, min(most, count)).tolist()})
    return validation.integers(name, chosen, 0, count - 1)


def finish(ax: Axes, title: str, x: str, y: str) -> Axes:
    """Set title and labels."""
    ax.set_title(title, fontsize="medium")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return ax
