"""Pictures of frequencies: the waves of several pairs together, and the wavelengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.inspect.spectrum import frequencies_of
from posenc.phase import cosine_sine
from posenc.plot import canvas

#: How far apart the zero lines of two waves are drawn; a wave is 2 high.
STEP = 2.5
#: Points a wave is drawn with.
POINTS = 2001


def waves(
    encoding: Encoding,
    pairs: Sequence[int] | None = None,
    length: int = 100,
    *,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """The sine of several pairs over positions 0 … length, one above the other, the fastest on top.

    Args:
        pairs: Which; if left out, five that rotate visibly within the length, and the slowest.
        keywords: For `Axes.plot`. Wave number i of those shown is drawn around -2.5·i.
    """
    frequencies = frequencies_of(encoding)
    lengths = frequencies.wavelengths()
    length = validation.integer("length", length, 1, canvas.MOST)
    chosen = (
        _informative_pairs(lengths, length)
        if pairs is None
        else canvas.spread("pairs", pairs, len(lengths), len(lengths))
    )
    positions = np.linspace(0.0, length, POINTS)
    _, sine = cosine_sine(positions, frequencies, dtype=np.float64)
    ax = canvas.single(ax)
    for index, pair in enumerate(chosen):
        ax.axhline(-STEP * index, color="#c8c8c8", linewidth=0.6, zorder=0)
        ax.plot(
            positions,
            sine[:, pair] - STEP * index,
            **{"color": canvas.colour(index), "label": f"pair {pair}", **keywords},
        )
    ax.set_yticks(
        [-STEP * i for i in range(len(chosen))],
        [f"pair {pair}\nperiod {canvas.position_count(lengths[pair])}" for pair in chosen],
    )
    ax.tick_params(axis="y", labelsize="small", length=0)
    ax.margins(x=0)
    return canvas.finish(ax, f"Waves of {canvas.name(encoding)}", "position", "")


def _informative_pairs(lengths: np.ndarray, length: int) -> list[int]:
    """Five pairs that rotate by a quarter or more within the length, if there are as many, and the slowest of all."""
    visible = max(1, int((lengths <= 4 * length).sum()))
    return sorted({*canvas.spread("pairs", None, visible, 5), len(lengths) - 1})


def wavelengths(encoding: Encoding, *, length: int | None = None, ax: Axes | None = None, **keywords: Any) -> Axes:
    """The wavelength 2π/ω of every pair, on a logarithmic scale, where a geometric progression is a straight line.

    Args:
        length: A context length to compare with: pairs above it never turn once in it.
        keywords: For `Axes.plot`.
    """
    lengths = frequencies_of(encoding).wavelengths()
    ax = canvas.single(ax)
    ax.semilogy(
        np.arange(len(lengths)),
        lengths,
        **{"color": canvas.COLOURS[0], "marker": "o", "markersize": 3, "linewidth": 1, **keywords},
    )
    if length is not None:
        length = validation.integer("length", length, 1, 2**53)
        slow = int((lengths > length).sum())
        ax.axhline(
            length,
            color="black",
            linestyle="--",
            linewidth=1,
            label=f"context of {length:,}: {slow} of {len(lengths)} pairs rotate less than once",
        )
        canvas.legend(ax, [length])
    return canvas.finish(ax, f"Wavelengths of {canvas.name(encoding)}", "pair", "wavelength (positions a revolution)")
