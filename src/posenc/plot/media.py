"""Tokens of text, images and videos: the three coordinates of each token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes

from posenc.core import validation
from posenc.core.text_lines import number
from posenc.plot import canvas
from posenc.positions.mixed_media import Segment, media
from posenc.positions.show import MOST_TOKENS, named_rows

#: Tokens up to which every cell holds its number.
NUMBERED = 40


def media_positions(
    segments: Sequence[Segment],
    *,
    after: Literal["largest", "extent"] = "largest",
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw time, height and width of every token, a row each; a line where a segment begins.

    Args:
        segments: Text, Image and Video of posenc.positions.
        after: Position after an image, as in `posenc.positions.media`.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.imshow`.

    Returns:
        The Axes.

    Raises:
        ValueError: There are more than 4096 tokens, or a segment breaks its rule.

    Example:
        >>> from posenc.positions import Image, Text
        >>> axes = media_positions([Text(2), Image(2, 2, 1)])
        >>> axes.images[0].get_array()[1].tolist()  # the height of each token
        [0, 1, 2, 2, 3, 3]
    """
    coordinates, following = media(segments, after=after)
    tokens = len(coordinates)
    validation.integer("segments, counted in tokens,", tokens, 1, MOST_TOKENS)
    ax = position_map(coordinates, names=("time", "height", "width"), ax=ax, **{"vmax": max(following, 1), **keywords})
    begins = 0
    for segment in segments:
        ax.axvline(begins - 0.5, color="white", linewidth=2)
        name = f" {type(segment).__name__.lower()}"
        ax.annotate(name, (begins - 0.5, 1), xycoords=("data", "axes fraction"), va="bottom", fontsize="x-small")
        begins += len(segment.coordinates())
    ax.set_title(f"The next token stands at {following}", fontsize="medium", pad=16)
    return ax


def position_map(
    positions: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None, **keywords: Any
) -> Axes:
    """Draw the coordinates of every token of a row, a row each; `posenc.positions.show` writes them as text.

    Args:
        positions: (n,), or (n, axes) with names of axes.
        names: Name of each coordinate; None for positions of one coordinate.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.imshow`.

    Returns:
        The Axes.

    Raises:
        TypeError: Positions are no numbers.
        ValueError: There are more than 4096 tokens or several rows, or names do not fit the coordinates.

    Example:
        >>> from posenc.positions import packed
        >>> position_map(packed([3, 2])).images[0].get_array().tolist()
        [[0, 1, 2, 0, 1]]
    """
    rows, labels = named_rows(positions, names)
    validation.integer("positions, counted in rows,", len(rows), 1, 1)
    validation.integer("positions, counted in tokens,", rows.shape[1], 1, MOST_TOKENS)
    values = rows[0].T
    ax = canvas.single(ax, (min(12.0, max(5.2, 0.3 * values.shape[1] + 1.4)), 1.2 + 0.4 * len(values)))
    scale = {"cmap": canvas.SEQUENTIAL, "vmin": 0, "vmax": max(values.max(), 1), "aspect": "auto"}
    image = ax.imshow(values, **{**scale, "interpolation": "nearest", **keywords})
    if values.shape[1] <= NUMBERED:
        canvas.draw_numbers(ax, values, number, lambda value: float(np.asarray(image.norm(value))) <= 0.6)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_title(f"Positions of {values.shape[1]} tokens", fontsize="medium")
    ax.set_xlabel("token")
    return ax
