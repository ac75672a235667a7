"""Tokens of text, images and videos: the three coordinates of each token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes

from posenc.core import validation
from posenc.plot import canvas
from posenc.positions.mixed_media import Segment, media

#: Tokens up to which every cell holds its number, and tokens that a picture has at most.
NUMBERED, MOST_TOKENS = 40, 4096


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
    ax = canvas.single(ax, (min(12.0, max(5.2, 0.3 * tokens + 1.4)), 2.4))
    scale = {"cmap": canvas.SEQUENTIAL, "vmin": 0, "vmax": max(following, 1), "aspect": "auto"}
    image = ax.imshow(coordinates.T, **{**scale, "interpolation": "nearest", **keywords})
    if tokens <= NUMBERED:
        canvas.draw_numbers(ax, coordinates.T, str, lambda value: float(np.asarray(image.norm(value))) <= 0.6)
    begins = 0
    for segment in segments:
        ax.axvline(begins - 0.5, color="white", linewidth=2)
        name = f" {type(segment).__name__.lower()}"
        ax.annotate(name, (begins - 0.5, 1), xycoords=("data", "axes fraction"), va="bottom", fontsize="x-small")
        begins += len(segment.coordinates())
    ax.set_yticks(range(3), ["time", "height", "width"])
    ax.set_title(f"The next token stands at {following}", fontsize="medium", pad=16)
    ax.set_xlabel("token")
    return ax
