"""Pictures of an encoding that rotates: one pair in the plane, and which channels pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.patches import Arc
from matplotlib.ticker import MaxNLocator

from posenc.core import arrays, validation
from posenc.core.doors import Params, RotaryEncoding
from posenc.core.rotation import of_pairs
from posenc.inspect.encoding_facts import drawn_params
from posenc.inspect.rotation_matrix import shared_rotation
from posenc.plot import canvas


def rotation(
    encoding: RotaryEncoding,
    vector: Sequence[float] = (1.0, 0.0),
    positions: Any = (1, 2, 3, 4, 5),
    *,
    pair: int = 0,
    params: Params | None = None,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw one pair of channels as an arrow in the plane, at several positions.

    Args:
        encoding: An encoding that rotates pairs, with one axis.
        vector: The two numbers of the pair, drawn in black.
        positions: Positions at which the vector is drawn rotated, a count or a row of numbers.
        pair: Index of the pair.
        params: Learned parameters; drawn with seed 0, and called untrained, if left out.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.quiver`, which draws the rotated vectors.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` does not rotate pairs, equally in every head.
        ValueError: An argument breaks its rule; the message names it.
    """
    points, start = canvas.positions_to_draw("positions", positions), _plane(vector)
    validation.instance("encoding", encoding, RotaryEncoding, canvas.ROTATES)
    validation.one_axis("encoding", encoding)
    drawn = drawn_params(encoding, params)
    rotated_points = _pair_at(encoding, start, points, pair, drawn)
    ax = canvas.single(ax, (4.4, 4.2))
    arrows = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.008}
    shades, origin = colormaps[canvas.SEQUENTIAL](np.linspace(0, 0.85, len(points))), np.zeros(len(points))
    ax.quiver(origin, origin, rotated_points[:, 0], rotated_points[:, 1], **{**arrows, "color": shades, **keywords})
    ax.quiver([0.0], [0.0], [start[0]], [start[1]], **arrows, color="black")
    for tip, text in zip([*rotated_points, start], _labels(rotated_points, points, start), strict=True):
        _label_at(ax, tip, text)
    _circle(ax, float(np.hypot(start[0], start[1])))
    first, second = _channels(encoding, drawn)
    title = f"Pair {pair} of {canvas.name(encoding, params=params)}"
    return canvas.finish(ax, title, f"dimension {first[pair]}", f"dimension {second[pair]}")


def pairing(encoding: RotaryEncoding, *, params: Params | None = None, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw the pairing of the channels of a head: a dot a channel, an arch a pair, grey where nothing rotates.

    Args:
        encoding: An encoding that rotates pairs, of at most 64 channels.
        params: Learned parameters; drawn with seed 0, and called untrained, if left out.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.scatter`, which draws the channels.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` does not rotate.
        ValueError: The head has more than 64 channels.
    """
    validation.instance("encoding", encoding, RotaryEncoding, canvas.ROTATES)
    validation.integer("encoding.head_dim", encoding.head_dim, 2, 64)
    first, second = _channels(encoding, drawn_params(encoding, params))
    shades = np.tile(np.array([0.8, 0.8, 0.8, 1.0]), (encoding.head_dim, 1))
    shades[first] = shades[second] = colormaps[canvas.SEQUENTIAL](np.linspace(0, 0.9, len(first)))
    ax = canvas.single(ax, (5.2, 2.4))
    for one, span in zip(first, second - first, strict=True):
        arch = Arc((one + span / 2, 0), span, 2 * np.sqrt(span), theta1=0, theta2=180, color=shades[one], linewidth=1.4)
        ax.add_patch(arch)
    look = {"c": shades, "s": 36, "zorder": 3, **keywords}
    ax.scatter(np.arange(encoding.head_dim), np.zeros(encoding.head_dim), **look)
    ax.set(ylim=(-0.5, max(2.0, np.sqrt((second - first).max())) + 0.4), yticks=[])
    ax.spines[["left", "right", "top", "bottom"]].set_visible(False)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return canvas.finish(ax, f"Pairs of {canvas.name(encoding, params=params)}", "dimension", "")


def _circle(ax: Axes, radius: float) -> None:
    """Draw the circle that a rotation cannot leave, with room for words on both sides."""
    angle, radius = np.linspace(0, 2 * np.pi, 361), radius or 1.0
    ax.plot(radius * np.cos(angle), radius * np.sin(angle), color="#c8c8c8", linewidth=0.8, zorder=0)
    ax.set(xlim=(-1.65 * radius, 1.65 * radius), ylim=(-1.3 * radius, 1.3 * radius), aspect="equal")


def _labels(tips: np.ndarray, points: np.ndarray, start: np.ndarray) -> list[str]:
    """Labels of the rotated vectors, then of the vector itself, which names the positions that leave it in place."""
    still = np.isclose(tips, start).all(-1)
    texts = [f"at {point:g}" for point in points]
    moved = ["" if same else text for text, same in zip(texts, still, strict=True)]
    return [*moved, ", ".join(["vector", *(text for text, same in zip(texts, still, strict=True) if same)])]


def _label_at(ax: Axes, tip: np.ndarray, text: str) -> None:
    """Write a word at the outer side of an arrow's tip."""
    side, offset = "left" if tip[0] > 0 else "right", tuple(6 * np.sign(tip))
    ax.annotate(
        text, (tip[0], tip[1]), xytext=offset, textcoords="offset points", ha=side, va="center", fontsize="small"
    )


def _plane(vector: Any) -> np.ndarray:
    array = np.asarray(arrays.numbers_on_host("vector", vector), dtype=np.float64)
    if array.shape != (2,):
        raise ValueError(f"vector must have shape (2,); got {array.shape}. Give the two numbers of one pair.")
    return array


def _pair_at(
    encoding: RotaryEncoding, vector: np.ndarray, positions: np.ndarray, pair: int, params: Params | None
) -> np.ndarray:
    """Channels of one pair at every position, from a head that is zero elsewhere, (n, 2)."""
    first, second = _channels(encoding, params)
    validation.integer("pair", pair, 0, len(first) - 1)
    channels = [first[pair], second[pair]]
    head = np.zeros((len(positions), encoding.head_dim))
    head[:, channels] = vector
    return canvas.as_float64(shared_rotation(encoding, positions, params, "query")(head))[:, channels]


def _channels(encoding: RotaryEncoding, params: Params | None) -> tuple[np.ndarray, np.ndarray]:
    """First and second channel of every pair."""
    origin = np.zeros((1,) if encoding.axes == 1 else (1, encoding.axes), np.int64)
    rotation = of_pairs("encoding", encoding.rotation(origin, params, role="query"))
    first, second = rotation.pairing.split(np.arange(encoding.head_dim))
    return np.asarray(first), np.asarray(second)
