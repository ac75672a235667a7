"""How fast an encoding changes with position: chosen dimensions, their tangents, and their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding
from posenc.inspect.sinusoid_channels import SinusoidChannels, required_channels
from posenc.inspect.spectrum import derivative as derivative_of
from posenc.plot import canvas

#: Points a curve is drawn with.
POINTS = 801


def derivative(
    encoding: AdditiveEncoding,
    dims: Sequence[int] | None = None,
    position: float = 3,
    length: int = 20,
    *,
    ax: Any = None,
    **keywords: Any,
) -> np.ndarray:
    """Chosen dimensions with their tangents at a position, and below them their derivatives; an array of two Axes.

    d/dt sin(ωt) = ω·cos(ωt) and d/dt cos(ωt) = -ω·sin(ωt), with the numbers of the position in the legend.

    Args:
        dims: Which; the first two if left out.
        length: How many positions are drawn, around `position`.
        keywords: For `Axes.plot`. TypeError for an encoding that is not made of sines and cosines.

    Example:
        >>> from posenc import Sinusoidal
        >>> derivative(Sinusoidal(dim=8), (2,))[1].get_legend().get_texts()[0].get_text()
        'dimension 2: ω·cos(ωt) = 0.1·cos(0.3) = 0.0955'
    """
    channels = required_channels(encoding)
    position = validation.real("position", position, -(2.0**40), 2.0**40)
    length = validation.integer("length", length, 1, canvas.MOST)
    chosen = canvas.spread("dims", range(min(2, channels.width)) if dims is None else dims, channels.width, 2)
    first = max(0.0, position - length / 2) if position >= 0 else position - length / 2
    rows = np.linspace(first, first + length, POINTS)
    values = canvas.as_float64(encoding.embed(np.append(rows, position), dtype=np.float64))
    slopes = canvas.as_float64(derivative_of(encoding, np.append(rows, position), dtype=np.float64))
    axes = canvas.several(ax, 2, 1, (5.2, 4.6), sharex=True)
    for index, dim in enumerate(chosen):
        look = {"color": canvas.colour(index), "linestyle": canvas.style(index), "linewidth": 1.2, **keywords}
        axes[0].plot(rows, values[:-1, dim], **{"label": f"dimension {dim}", **look})
        axes[1].plot(rows, slopes[:-1, dim], **{"label": _formula(channels, dim, position, slopes[-1, dim]), **look})
        _tangent(axes[0], position, float(values[-1, dim]), float(slopes[-1, dim]), length)
        axes[1].plot([position], [slopes[-1, dim]], "o", color="black", markersize=4)
    canvas.finish(axes[0], f"{canvas.name(encoding)}, tangents at position {position:g}", "", "value")
    canvas.finish(axes[1], "", "position", "derivative (per position)")
    canvas.legend(axes[1], chosen, loc="upper left", bbox_to_anchor=(0, -0.25))
    return axes


def _tangent(ax: Axes, position: float, value: float, slope: float, length: int) -> None:
    """A piece of the tangent, a tenth of the picture wide."""
    reach = length / 20
    ax.plot([position - reach, position + reach], [value - reach * slope, value + reach * slope], color="black")
    ax.plot([position], [value], "o", color="black", markersize=4)


def _formula(channels: SinusoidChannels, dim: int, position: float, slope: float) -> str:
    """The derivative of a dimension, with the numbers of the position."""
    kind, pair = channels.channel(dim)
    if channels.frequencies is None or kind == "zero":
        return f"dimension {dim}: 0 everywhere"
    frequency = float(channels.frequencies.radians()[pair])
    factor = text_lines.number(channels.factor * frequency)
    angle = text_lines.number(frequency * (position + channels.start))
    scale = "ω" if channels.factor == 1 else f"{text_lines.number(channels.factor)}·ω"
    at = "ωt" if not channels.start else f"ω(t + {channels.start})"
    symbols, numbers = (
        (f"{scale}·cos({at})", f"{factor}·cos({angle})")
        if kind == "sine"
        else (f"-{scale}·sin({at})", f"-{factor}·sin({angle})")
    )
    return canvas.literal(f"dimension {dim}: {symbols} = {numbers} = {text_lines.number(slope, 4)}".replace("--", ""))
