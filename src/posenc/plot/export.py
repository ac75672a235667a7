"""A picture as the bytes of an image file, for a page or a folder."""

from __future__ import annotations

import io
import re
import struct
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posenc.core import validation

#: An SVG beyond this many bytes is drawn as a PNG instead.
LARGE = 150_000


@dataclass(frozen=True)
class ImageFile:
    """An image file.

    Attributes:
        data: Its bytes.
        media: Media type, "image/svg+xml" or "image/png".
        width: Width in CSS pixels (96 an inch).
        height: Height in CSS pixels.
    """

    data: bytes
    media: str
    width: int
    height: int


def image(picture: Any, kind: str = "auto", *, dpi: int = 160) -> ImageFile:
    """Save the whole figure of a picture; the same picture always gives the same bytes.

    Args:
        picture: A Figure, an Axes or an array of Axes.
        kind: "svg", "png", or "auto": PNG for a figure with a heat map or a large SVG, SVG otherwise.
        dpi: Dots an inch of a PNG.

    Returns:
        The image file.

    Raises:
        TypeError: `picture` is something else.
        ValueError: `kind` or `dpi` breaks its rule.
    """
    figure = figure_of(picture)
    validation.choice("kind", kind, ("auto", "svg", "png"))
    validation.integer("dpi", dpi, 10, 1200)
    if kind == "png" or (kind == "auto" and any(one.images for one in figure.axes)):
        return _png(figure, dpi)
    drawn = _svg(figure)
    return _png(figure, dpi) if kind == "auto" and len(drawn.data) > LARGE else drawn


def figure_of(picture: Any) -> Figure:
    """Figure that a picture belongs to."""
    if isinstance(picture, np.ndarray) and picture.size:
        picture = picture[(0,) * picture.ndim]
    while isinstance(picture, list | tuple) and picture:
        picture = picture[0]
    if isinstance(picture, Axes):
        picture = picture.get_figure(root=True)
    figure: Figure = validation.instance("picture", picture, Figure, "a matplotlib Figure, an Axes or an array of Axes")
    return figure


def _svg(figure: Figure) -> ImageFile:
    # The salt makes the names inside the file, and so its bytes, the same on every run.
    with mpl.rc_context({"svg.hashsalt": "posenc", "svg.fonttype": "path"}):
        data = _saved(figure, format="svg", metadata={"Date": None, "Creator": None})
    match = re.search(
        rb'<svg[^>]*? width="([\d.]+)pt" height="([\d.]+)pt"|<svg[^>]*? height="([\d.]+)pt"[^>]*? width="([\d.]+)pt"',
        data,
    )
    if match is None:
        raise ValueError("picture must give an SVG with a size in points; got one without. Ask for kind='png'.")
    first, second, third, fourth = match.groups()
    width, height = (first, second) if first else (fourth, third)
    return ImageFile(data, "image/svg+xml", round(float(width) * 96 / 72), round(float(height) * 96 / 72))


def _png(figure: Figure, dpi: int) -> ImageFile:
    data = _saved(figure, format="png", dpi=dpi, metadata={"Software": None})
    width, height = struct.unpack(">II", data[16:24])
    return ImageFile(data, "image/png", round(width * 96 / dpi), round(height * 96 / dpi))


def _saved(figure: Figure, **keywords: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, bbox_inches="tight", pad_inches=0.05, facecolor="white", **keywords)
    return buffer.getvalue()
