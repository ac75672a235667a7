"""Pictures as wide as a column of a page: what is drawn has the stated width, and its text shrinks with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

#: Inches around what is drawn.
MARGIN = 0.05
#: Inches of an image whose width is stated: a narrow column of a journal has 2.2.
NARROWEST, WIDEST = 1.0, 40.0
#: Units of a width, in inches; pt are those of TeX, as \the\columnwidth prints them.
UNITS = {"": 1.0, "in": 1.0, "mm": 1 / 25.4, "cm": 1 / 2.54, "pt": 1 / 72.27}
#: Points of the smallest letters that can be read in print.
SMALLEST = 4.0
#: What is measured in points, and shrinks with the text.
IN_POINTS = (
    *("font.size", "lines.linewidth", "lines.markersize", "axes.linewidth", "axes.labelpad", "axes.titlepad"),
    *(f"{axis}tick.major.{part}" for axis in "xy" for part in ("size", "pad", "width")),
)


def inches(text: str) -> float:
    """Convert a width such as "3.25in", "89mm", "8.9cm", "242pt" or "3.25" (inches) to inches.

    Example:
        >>> inches("89mm") == 89 / 25.4, inches("3.5")
        (True, 3.5)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(in|mm|cm|pt|)\s*", text)
    width = float(match[1]) * UNITS[match[2]] if match else 0.0
    if not NARROWEST <= width <= WIDEST:
        raise ValueError(
            f"width must be {NARROWEST:g} to {WIDEST:g} inches, as 3.25in, 89mm, 8.9cm or 242pt; got {text!r:.40}. "
            "Write one of these."
        )
    return width


@contextmanager
def smaller_text(factor: float) -> Iterator[None]:
    """Scale text, lines and ticks by `factor`, at most 1, for pictures drawn inside the `with` block.

    A size of text that the reader's own matplotlibrc states is kept.
    """
    stated = mpl.rcParams["font.size"] != mpl.rcParamsDefault["font.size"]
    scale = 1.0 if stated else min(1.0, factor)
    with mpl.rc_context({name: mpl.rcParams[name] * scale for name in IN_POINTS}):
        yield


def drawn_box(figure: Figure) -> Bbox:
    """Box around all that is drawn, with its margin, in inches."""
    figure.draw_without_rendering()
    return figure.get_tightbbox().padded(MARGIN)


def fit_to_width(figure: Figure, width: float) -> Bbox:
    """Resize a figure, keeping its shape, until its drawing is `width` inches wide, and return the box to save."""
    before = np.asarray(figure.get_size_inches())
    box = drawn_box(figure)
    for _ in range(4):
        inside = max(width - (box.width - figure.get_size_inches()[0]), width / 4)  # labels outside keep their width
        figure.set_size_inches(inside, inside * before[1] / before[0])
        box = drawn_box(figure)
        if abs(box.width - width) < 0.005:
            break
    return Bbox.from_bounds(box.x0 + (box.width - width) / 2, box.y0, width, box.height)


def smallest_text(figure: Figure) -> float:
    """Points of the smallest letters of a figure that has been drawn."""
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and text.get_text().strip()]
    return min(float(text.get_fontsize()) for text in texts if text.get_visible())
