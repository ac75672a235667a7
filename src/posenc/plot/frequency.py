"""Pictures of frequencies: waves, wavelengths, derivatives, and how much scalings slow each pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding, Encoding
from posenc.encodings.rotates.rope import RoPE
from posenc.inspect.sinusoid_channels import SinusoidChannels, required_channels, sinusoid_channels
from posenc.inspect.spectrum import derivative as derivative_of
from posenc.inspect.spectrum import frequencies_of
from posenc.models.extension_planning.metrics import slowed_by
from posenc.models.extension_planning.planner import scaling_candidates
from posenc.phase import cosine_sine
from posenc.plot import canvas
from posenc.plot.fonts import literal

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
    """Draw the sine of several pairs over positions 0 … length, one above the other, pair 0 on top.

    Args:
        encoding: An encoding with frequencies, of any door.
        pairs: Pairs to draw; if left out, five that rotate visibly within the length, and the slowest.
        length: Last position.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.plot`.

    Returns:
        The Axes; wave number i of those shown is drawn around -2.5·i.

    Raises:
        TypeError: `encoding` has no frequencies.
        ValueError: An argument breaks its rule; the message names it.
    """
    frequencies = frequencies_of(encoding)
    lengths = frequencies.wavelengths()
    length = validation.integer("length", length, 1, canvas.MOST)
    pairs = _informative_pairs(lengths, length) if pairs is None else pairs
    chosen = canvas.spread("pairs", pairs, len(lengths), len(lengths))
    positions = np.linspace(0.0, length, POINTS)
    channels = sinusoid_channels(encoding)
    shifted = positions + (channels.start if channels else 0)
    _, sine = cosine_sine(shifted, frequencies, dtype=np.float64)
    ax = canvas.single(ax)
    for index, pair in enumerate(chosen):
        ax.axhline(-STEP * index, color="#c8c8c8", linewidth=0.6, zorder=0)
        look = {"color": canvas.colour(index), "label": f"pair {pair}", **keywords}
        ax.plot(positions, sine[:, pair] - STEP * index, **look)
    labels = [f"pair {pair}\nperiod {canvas.position_count(lengths[pair])}" for pair in chosen]
    ax.set_yticks([-STEP * index for index in range(len(chosen))], labels)
    ax.tick_params(axis="y", labelsize="small", length=0)
    ax.margins(x=0)
    return canvas.finish(ax, f"Waves of {canvas.name(encoding)}", "position", "")


def _informative_pairs(lengths: np.ndarray, length: int) -> list[int]:
    """Five pairs that rotate by a quarter or more within the length, if there are as many, and the slowest."""
    visible = max(1, int((lengths <= 4 * length).sum()))
    return sorted({*canvas.spread("pairs", None, visible, 5), len(lengths) - 1})


def wavelengths(encoding: Encoding, *, length: int | None = None, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw the wavelength 2π/ω of every pair, logarithmic: a geometric progression is a straight line.

    Args:
        encoding: An encoding with frequencies, of any door.
        length: Length of a context to compare with; pairs above it never rotate once within it.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.plot`.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` has no frequencies.
        ValueError: An argument breaks its rule; the message names it.
    """
    lengths = frequencies_of(encoding).wavelengths()
    ax = canvas.single(ax)
    look = {"color": canvas.COLOURS[0], "marker": "o", "markersize": 3, "linewidth": 1, **keywords}
    ax.semilogy(np.arange(len(lengths)), lengths, **look)
    if length is not None:
        length = validation.integer("length", length, 1, 2**53)
        slow = int((lengths > length).sum())
        label = f"context of {length:,}: {slow} of {len(lengths)} pairs rotate less than once"
        ax.axhline(length, color="black", linestyle="--", linewidth=1, label=label)
        canvas.legend(ax, [length])
    return canvas.finish(ax, f"Wavelengths of {canvas.name(encoding)}", "pair", "wavelength (positions a revolution)")


#: Points a curve is drawn with.
DERIVATIVE_POINTS = 801


def derivative(
    encoding: AdditiveEncoding,
    dims: Sequence[int] | None = None,
    position: float = 3,
    length: int = 20,
    *,
    ax: Any = None,
    **keywords: Any,
) -> np.ndarray:
    """Draw chosen dimensions with their tangents at a position, and below them their derivatives.

    d/dt sin(ωt) = ω·cos(ωt) and d/dt cos(ωt) = -ω·sin(ωt), with the numbers of the position in the legend.

    Args:
        encoding: An encoding made of sines and cosines.
        dims: Dimensions to draw; the first two if left out.
        position: Position of the tangents.
        length: How many positions are drawn, around `position`.
        ax: Two Axes; a new figure if left out.
        keywords: Options of `Axes.plot`.

    Returns:
        An array of two Axes.

    Raises:
        TypeError: `encoding` is not made of sines and cosines.
        ValueError: An argument breaks its rule; the message names it.

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
    rows = np.linspace(first, first + length, DERIVATIVE_POINTS)
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
    """Draw a piece of the tangent, a tenth of the picture wide."""
    reach = length / 20
    ax.plot([position - reach, position + reach], [value - reach * slope, value + reach * slope], color="black")
    ax.plot([position], [value], "o", color="black", markersize=4)


def _formula(channels: SinusoidChannels, dim: int, position: float, slope: float) -> str:
    """Derivative of a dimension, with the numbers of the position."""
    kind, pair = channels.channel(dim)
    if channels.frequencies is None or kind == "zero":
        return f"dimension {dim}: 0 everywhere"
    frequency = float(channels.frequencies.radians()[pair])
    factor = text_lines.number(channels.factor * frequency)
    angle = text_lines.number(frequency * (position + channels.start))
    scale = "ω" if channels.factor == 1 else f"{text_lines.number(channels.factor)}·ω"
    at = "ωt" if not channels.start else f"ω(t + {channels.start})"
    sign, wave = ("", "cos") if kind == "sine" else ("-", "sin")
    symbols, numbers = f"{sign}{scale}·{wave}({at})", f"{sign}{factor}·{wave}({angle})"
    return literal(f"dimension {dim}: {symbols} = {numbers} = {text_lines.number(slope, 4)}".replace("--", ""))


def scalings(
    encoding: RoPE, *, trained: int = 4096, target: int = 32768, ax: Axes | None = None, **keywords: Any
) -> Axes:
    """Draw trained frequency / new frequency of every pair against its wavelength, a line for each scaling.

    Args:
        encoding: A RoPE.
        trained: Length the model was trained for.
        target: Length to reach.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.plot`.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` is no RoPE.
        ValueError: An argument breaks its rule; the message names it.

    Example:
        >>> from posenc import RoPE
        >>> [line.get_label() for line in scalings(RoPE(dim=64)).lines][:3]
        ['as it is', 'YaRN', 'Llama 3']
    """
    validation.instance("encoding", encoding, RoPE, "a rotation such as RoPE(dim=64)")
    trained = validation.integer("trained", trained, 2, 1 << 30)
    target = validation.integer("target", target, 1, 1 << 30)
    lengths, before = encoding.frequencies.wavelengths(), encoding.frequencies.radians()
    ax = canvas.single(ax)
    for index, way in enumerate(scaling_candidates(encoding, trained, target, min(4096, trained))):
        line = {"color": canvas.colour(index), "linestyle": canvas.style(index), "label": literal(way.name)}
        ax.loglog(lengths, slowed_by(before, way.encoding.frequencies.radians()), **{**line, **keywords})
    canvas.legend(ax, ax.lines)
    title = f"From {trained:,} to {target:,} positions, {canvas.name(encoding, 40)}"
    return canvas.finish(ax, title, "wavelength before scaling (positions)", "slowed by this factor")
