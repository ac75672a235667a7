"""Measured curves, such as losses, told apart by colour and by style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from posenc.core import validation
from posenc.plot import canvas
from posenc.plot.fonts import literal


def curves(
    named: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    x: str,
    y: str,
    title: str = "",
    marks: Mapping[str, float] | None = None,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw a line for each name, told apart by colour and by style.

    Args:
        named: (x values, y values) of each line, by its name.
        x: Label of the x axis, with the unit.
        y: Label of the y axis, with the unit.
        title: Title of the picture.
        marks: x values of upright lines, by their names.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.plot`.

    Returns:
        The Axes.

    Raises:
        TypeError: `named` is no mapping.
        ValueError: A line has rows of different lengths.

    Example:
        >>> axes = curves({"RoPE": ([0, 100], [3.2, 2.1])}, x="step", y="loss (nats a token)")
        >>> axes.lines[0].get_ydata().tolist()
        [3.2, 2.1]
    """
    if not isinstance(named, Mapping):
        raise TypeError(f"named must map names to (x values, y values); got {validation.shown(named)}. Give a dict.")
    for name, words in (("x", x), ("y", y), ("title", title)):
        validation.text(name, words)
    validation.instance("marks", {} if marks is None else marks, Mapping, "a dict of names and x values")
    ax = canvas.single(ax)
    for index, (label, (xs, ys)) in enumerate(named.items()):
        if np.shape(xs) != np.shape(ys) or np.ndim(xs) != 1:
            raise ValueError(
                f"named[{label!r}] must be two rows of one length; got shapes {np.shape(xs)} and {np.shape(ys)}. Cut "
                "the longer."
            )
        line = {"color": canvas.colour(index), "linestyle": canvas.style(index), "label": literal(label)}
        ax.plot(xs, ys, **{**line, **keywords})
    for label, number in (marks or {}).items():
        where = validation.real(f"marks[{label!r}]", number, -1e300, 1e300)
        ax.axvline(where, color="#8c8c8c", linewidth=0.9, linestyle=":")
        look: dict[str, Any] = {"textcoords": "offset points", "va": "top", "fontsize": "x-small"}
        ax.annotate(literal(label), (where, 1), xycoords=("data", "axes fraction"), xytext=(3, -3), **look)
    canvas.legend(ax, list(named))
    return canvas.finish(ax, literal(title), literal(x), literal(y))
