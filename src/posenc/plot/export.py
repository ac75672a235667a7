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
from posenc.plot.column_width import MARGIN, NARROWEST, WIDEST, fit_to_width

#: An SVG beyond this many bytes is drawn as a PNG instead.
LARGE = 150_000


@dataclass(frozen=True)
class ImageFile:
    """An image file.

    Attributes:
        data: Its bytes.
        media: Media type, "image/svg+xml", "image/png" or "application/pdf".
        width: Width in CSS pixels (96 an inch).
        height: Height in CSS pixels.
    """

    data: bytes
    media: str
    width: int
    height: int


def image(picture: Any, kind: str = "auto", *, dpi: int = 160, width: float | None = None) -> ImageFile:
    """Save the whole figure of a picture; the same picture always gives the same bytes.

    Args:
        picture: A Figure, an Axes or an array of Axes.
        kind: "svg", "png", "pdf" with embedded TrueType fonts, or "auto": PNG for a figure with a heat map or a large
            SVG, SVG otherwise.
        dpi: Dots an inch of a PNG.
        width: Width of the image in inches, for which the figure is laid out anew in its own shape while text keeps
            its size; if None, the figure's.

    Returns:
        The image file.

    Raises:
        TypeError: `picture` is something else.
        ValueError: `kind`, `dpi` or `width` breaks its rule.
    """
    figure = figure_of(picture)
    validation.choice("kind", kind, ("auto", "svg", "png", "pdf"))
    validation.integer("dpi", dpi, 10, 1200)
    if width is None:
        return _of_kind(figure, kind, dpi)
    width = validation.real("width", width, NARROWEST, WIDEST)
    before = figure.get_size_inches()
    try:
        return _of_kind(figure, kind, dpi, bbox_inches=fit_to_width(figure, width), pad_inches=0)
    finally:
        figure.set_size_inches(*before)


def _of_kind(figure: Figure, kind: str, dpi: int, **keywords: Any) -> ImageFile:
    if kind == "pdf":
        return _pdf(figure, **keywords)
    if kind == "png" or (kind == "auto" and any(one.images for one in figure.axes)):
        return _png(figure, dpi, **keywords)
    drawn = _svg(figure, **keywords)
    return _png(figure, dpi, **keywords) if kind == "auto" and len(drawn.data) > LARGE else drawn


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


def _svg(figure: Figure, **keywords: Any) -> ImageFile:
    # The salt makes the names inside the file, and so its bytes, the same on every run.
    with mpl.rc_context({"svg.hashsalt": "posenc", "svg.fonttype": "path"}):
        data = _saved(figure, format="svg", metadata={"Date": None, "Creator": None}, **keywords)
    match = re.search(
        rb'<svg[^>]*? width="([\d.]+)pt" height="([\d.]+)pt"|<svg[^>]*? height="([\d.]+)pt"[^>]*? width="([\d.]+)pt"',
        data,
    )
    if match is None:
        raise ValueError("picture must give an SVG with a size in points; got one without. Ask for kind='png'.")
    first, second, third, fourth = match.groups()
    return _sized(data, "image/svg+xml", *((first, second) if first else (fourth, third)))


def _pdf(figure: Figure, **keywords: Any) -> ImageFile:
    # Type 42, TrueType: publishers refuse Type 3, which is matplotlib's own choice.
    with mpl.rc_context({"pdf.fonttype": 42}):
        data = _saved(figure, format="pdf", metadata={"CreationDate": None}, **keywords)
    match = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", data)
    if match is None:
        raise ValueError("picture must give a PDF with a size in points; got one without. Ask for kind='png'.")
    return _sized(data, "application/pdf", *match.groups())


def _sized(data: bytes, media: str, width: bytes, height: bytes) -> ImageFile:
    """Image file of a width and height in points, converted to CSS pixels."""
    return ImageFile(data, media, round(float(width) * 96 / 72), round(float(height) * 96 / 72))


def _png(figure: Figure, dpi: int, **keywords: Any) -> ImageFile:
    data = _saved(figure, format="png", dpi=dpi, metadata={"Software": None}, **keywords)
    width, height = struct.unpack(">II", data[16:24])
    return ImageFile(data, "image/png", round(width * 96 / dpi), round(height * 96 / dpi))


def _saved(figure: Figure, **keywords: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, **{"bbox_inches": "tight", "pad_inches": MARGIN, "facecolor": "white", **keywords})
    return buffer.getvalue()
