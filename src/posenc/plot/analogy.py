"""Pictures of the comparison with counting: dials, bits next to the encoding, and a number as waves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from posenc.core import validation
from posenc.core.doors import AdditiveEncoding, Encoding
from posenc.core.text_lines import decimals
from posenc.inspect import BinaryCounting, Dials, NumberWaves, binary_counting
from posenc.inspect import dials as dials_of
from posenc.inspect import number_waves as number_waves_of
from posenc.inspect.sinusoid_channels import sinusoid_channels
from posenc.plot import canvas
from posenc.plot.fonts import literal

#: Dials in a row; the distance of two centres where the radius is 1.
COLUMNS, STEP_X, STEP_Y = 4, 2.8, 4.2
#: Inches of the tallest picture of numbers; more numbers than these are drawn without their digits.
TALLEST, MOST_NUMBERED = 9.0, 42
#: Dials that are drawn unless more are asked for.
DIALS = 8


def dials(
    encoding: Encoding | Dials,
    position: int = 150,
    *,
    pairs: Sequence[int] | None = None,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw each pair of channels as a dial, its hand at the pair's angle, from the right and against the clock.

    The height of the hand is the sine and its reach to the right the cosine, the pair's two numbers.

    Args:
        encoding: An encoding with frequencies, or the result of `posenc.inspect.dials`, which has its own position.
        position: A whole number.
        pairs: Pairs to draw; at most eight from the fastest to the slowest if left out.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.plot`, which draws the hands.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` has no frequencies.
        ValueError: An argument breaks its rule; the message names it.
    """
    read = encoding if isinstance(encoding, Dials) else dials_of(encoding, position)
    chosen = canvas.spread("pairs", pairs, len(read.revolutions), DIALS)
    columns, rows = min(len(chosen), COLUMNS), -(-len(chosen) // COLUMNS)
    ax = canvas.single(ax, (max(3.4, 1.4 * columns), 2.1 * rows + 0.4))
    circle = np.linspace(0, 2 * np.pi, 121)
    hand = {"color": canvas.COLOURS[0], "linewidth": 2, "marker": "o", "markevery": [1], "markersize": 4}
    for index, pair in enumerate(chosen):
        x, y = STEP_X * (index % COLUMNS), -STEP_Y * (index // COLUMNS)
        tip = x + read.x[pair], y + read.y[pair]
        ax.plot(x + np.cos(circle), y + np.sin(circle), color="#8c8c8c", linewidth=0.9)
        ax.plot([x - 1, x + 1, np.nan, x, x], [y, y, np.nan, y - 1, y + 1], color="#dcdcdc", linewidth=0.7, zorder=0)
        ax.plot([tip[0], tip[0]], [y, tip[1]], color=canvas.COLOURS[1], linewidth=1, linestyle=":")
        ax.plot([x, tip[0]], [y, tip[1]], **{**hand, **keywords})
        text = (
            f"pair {pair}: {read.degrees[pair]:.1f}°\nsin {read.y[pair]:.4f}\ncos {read.x[pair]:.4f}\n"
            f"period {canvas.position_count(read.wavelengths[pair])}"
        )
        ax.annotate(literal(text), (x, y - 1.15), ha="center", va="top", fontsize="small")
    ax.set(xlim=(-1.3, STEP_X * (columns - 1) + 1.3), ylim=(-STEP_Y * (rows - 1) - 2.75, 1.15), aspect="equal")
    ax.set_axis_off()
    ax.set_title(f"Position {read.position} on the dials of {canvas.name(read.encoding, 40)}", fontsize="medium")
    return ax


def binary(
    count: int | BinaryCounting = 16,
    bits: int = 4,
    encoding: AdditiveEncoding | None = None,
    *,
    ax: Any = None,
    **keywords: Any,
) -> np.ndarray:
    """Draw numbers in bits next to the encoding of the same numbers.

    Args:
        count: How many numbers, or the result of `posenc.inspect.binary_counting`.
        bits: Bits of a number.
        encoding: An encoding that adds and has frequencies; Sinusoidal(dim=2·bits) if left out.
        ax: Two Axes; a new figure if left out.
        keywords: Options of `Axes.imshow`, which draws the encoding.

    Returns:
        An array of two Axes.

    Raises:
        TypeError: `encoding` does not add or has no frequencies.
        ValueError: An argument breaks its rule; the message names it.
    """
    counting = count if isinstance(count, BinaryCounting) else binary_counting(count, bits, encoding)
    numbers, width = np.arange(len(counting.table)), counting.table.shape[1]
    height = min(TALLEST, max(2.4, 0.19 * len(numbers) + 1.2))
    left, right = axes = canvas.several(ax, 1, 2, (5.6, height), sharey=True)
    left.imshow(counting.table, aspect="auto", cmap="Greys", vmin=0, vmax=2, interpolation="nearest")
    if len(numbers) <= MOST_NUMBERED:
        for row, column in np.ndindex(*counting.table.shape):
            left.text(column, row, str(counting.table[row, column]), ha="center", va="center", fontsize="x-small")
    crowded: dict[str, Any] = {"rotation": 90, "fontsize": "small"} if width > 6 else {}
    left.set_xticks(np.arange(width), [f"{flip}s" for flip in counting.flips], **crowded)
    left.set_yticks(numbers[:: max(1, len(numbers) // 16)])
    canvas.finish(left, "in bits:\nfastest on the right", "bit (flips every)", "number")
    look = {**canvas.centred(counting.rows), **keywords}
    canvas.draw_heatmap(right, counting.rows, numbers, np.arange(counting.rows.shape[1]), "value", look)
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    canvas.finish(right, f"encoded{_order(counting)}", "dimension", "")
    return axes


def _order(counting: BinaryCounting) -> str:
    """On which side the fastest dimensions of an encoding stand, if on one."""
    channels = sinusoid_channels(counting.encoding)
    if channels is None:
        return ""
    pairs = [pair for kind, pair in map(channels.channel, range(channels.width)) if kind != "zero"]
    steps = np.diff(np.abs(counting.wavelengths)[pairs])
    if (steps >= 0).all():
        return ":\nfastest on the left"
    return ":\nfastest on the right" if (steps <= 0).all() else ""


def number_waves(
    encoding: Encoding | NumberWaves, position: int = 150, *, ax: Any = None, **keywords: Any
) -> np.ndarray:
    """Draw the digits of a number under square waves, then its pairs under sinusoids, all over one axis of positions.

    The axis goes from 0 to the number, or over the last 512 positions before a larger one. A dot marks the number.

    Args:
        encoding: An encoding with frequencies, or the result of `posenc.inspect.number_waves`.
        position: The number.
        ax: As many Axes as bits and pairs; a new figure if left out.
        keywords: Options of `Axes.plot`.

    Returns:
        An array of Axes, one a wave.

    Raises:
        TypeError: `encoding` has no frequencies.
        ValueError: An argument breaks its rule; the message names it.
    """
    if not isinstance(encoding, NumberWaves):
        validation.instance("encoding", encoding, Encoding, "an encoding with frequencies")
        encoding = number_waves_of(validation.integer("position", position, 0, 2**53), encoding)
    shown = encoding
    bits, pairs = len(shown.digits), len(shown.sines)
    axes = canvas.several(ax, bits + pairs, 1, (6.4, 0.4 * (bits + pairs) + 0.9), sharex=ax is None)
    square = {"color": canvas.COLOURS[0], "drawstyle": "steps-post", **keywords}
    for index, panel in enumerate(axes[:bits]):
        _wave(panel, shown.numbers, shown.bits[index], (shown.number, shown.digits[index]), square)
        _labels(panel, f"bit {index}: {shown.digits[index]}", f"period {int(shown.periods[index]):,}")
    for pair, panel in enumerate(axes[bits:]):
        value = float(shown.dials.y[pair])
        _wave(panel, shown.places, shown.sines[pair], (shown.number, value), {"color": canvas.COLOURS[1], **keywords})
        period = canvas.position_count(shown.dials.wavelengths[pair])
        _labels(panel, literal(f"pair {pair}: {decimals(value, 3)}".replace("-", "−")), f"period {period}")
    axes[-1].spines["bottom"].set_visible(True)
    axes[-1].tick_params(bottom=True, labelbottom=True)
    axes[-1].xaxis.set_major_locator(MaxNLocator(7, integer=True))
    axes[-1].ticklabel_format(style="plain", useOffset=False)
    axes[-1].set_xlabel(f"number; the dots are at {shown.number}")
    axes[0].figure.suptitle(f"{shown.number} = {shown.number:b} in binary, and its encoding", fontsize="medium")
    return axes


def _wave(ax: Axes, x: np.ndarray, y: np.ndarray, end: tuple[int, float], look: dict[str, Any]) -> None:
    """A wave with a dot at the number, without a frame."""
    ax.plot(x, y, **{"linewidth": 1.1, **look})
    ax.plot([end[0]], [end[1]], marker="o", markersize=5, color="black", clip_on=False)
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(-0.2 if y.dtype.kind == "i" else -1.25, 1.25)
    ax.spines[:].set_visible(False)
    ax.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)


def _labels(ax: Axes, left: str, right: str) -> None:
    look: dict[str, Any] = {"transform": ax.transAxes, "va": "center", "fontsize": "small"}
    ax.text(-0.01, 0.5, left, ha="right", **look)
    ax.text(1.01, 0.5, right, ha="left", **look)
