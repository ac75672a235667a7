"""A number as waves: its binary digits, and the pairs of its encoding."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from posenc.core.doors import Encoding
from posenc.inspect import NumberWaves
from posenc.inspect import number_waves as number_waves_of
from posenc.plot import canvas

#: Places of a square wave in its window.
STEPS = 769


def number_waves(
    encoding: Encoding | NumberWaves, position: int = 150, *, ax: Any = None, **keywords: Any
) -> np.ndarray:
    """The digits of a number under square waves, then its pairs under sinusoids; an array of Axes, one a wave.

    Every wave is drawn over its own last three periods, and ends at the number, marked by a dot.

    Args:
        encoding: One with frequencies, or the result of `posenc.inspect.number_waves`.
        keywords: For `Axes.plot`.
    """
    shown = encoding if isinstance(encoding, NumberWaves) else number_waves_of(position, encoding)
    bits, pairs = len(shown.digits), len(shown.sines)
    axes = canvas.several(ax, bits + pairs, 1, (5.6, 0.42 * (bits + pairs) + 0.8))
    back = np.linspace(-3.0, 0.0, STEPS)
    for index, panel in enumerate(axes[:bits]):
        # The digit holds for half a period; the number stands at this share of its period.
        share = shown.number % int(shown.periods[index]) / int(shown.periods[index])
        wave = ((share + back) % 1 >= 0.5).astype(float)
        _wave(panel, back, wave, float(shown.digits[index]), canvas.COLOURS[0], keywords)
        _labels(panel, f"bit {index}: {shown.digits[index]}", f"period {int(shown.periods[index]):,}")
    for pair, panel in enumerate(axes[bits:]):
        places = np.linspace(-3.0, 0.0, shown.sines.shape[1])
        _wave(panel, places, shown.sines[pair], float(shown.sines[pair, -1]), canvas.COLOURS[1], keywords)
        period = canvas.position_count(shown.dials.wavelengths[pair])
        _labels(panel, f"pair {pair}: {shown.sines[pair, -1]:.3f}", f"period {period}")
    title = f"{shown.number} = {shown.number:b} in binary, and its encoding"
    axes[0].figure.suptitle(title, fontsize="medium")
    if ax is None:
        told = f"Each wave over its own last three periods; the dot is {shown.number}"
        axes[0].figure.supxlabel(told, fontsize="small")
    return axes


def _wave(ax: Axes, x: np.ndarray, y: np.ndarray, end: float, colour: str, keywords: dict[str, Any]) -> None:
    ax.plot(x, y, **{"color": colour, "linewidth": 1.2, **keywords})
    ax.plot([0.0], [end], marker="o", markersize=5, color="black")
    ax.set(xlim=(-3.05, 0.1))
    ax.set_axis_off()


def _labels(ax: Axes, left: str, right: str) -> None:
    look: dict[str, Any] = {"transform": ax.transAxes, "va": "center", "fontsize": "small"}
    ax.text(-0.01, 0.5, left, ha="right", **look)
    ax.text(1.01, 0.5, right, ha="left", **look)
