"""Pictures of the table of an encoding: all of it, some of its dimensions, its rows against each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from posenc.core import validation
from posenc.core.doors import AdditiveEncoding, Params, RotaryEncoding
from posenc.inspect import similarity as similarity_of
from posenc.inspect.encoding_facts import drawn_params
from posenc.inspect.rotation_matrix import rotation_table, shared_rotation
from posenc.plot import canvas
from posenc.plot.fonts import literal


def heatmap(
    encoding: AdditiveEncoding | RotaryEncoding,
    positions: Any = 100,
    *,
    params: Params | None = None,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw every value of the encoding as a colour: a row a position, from the top; a column a dimension.

    A rotation has the cosine of each pair at the pair's first dimension, and the sine at its second.

    Args:
        encoding: An encoding that adds or rotates, with one axis.
        positions: A count or evenly spaced numbers.
        params: Learned parameters; drawn with seed 0, and called untrained, if left out.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.imshow`.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` neither adds nor rotates pairs, equally in every head.
        ValueError: An argument breaks its rule; the message names it.

    Example:
        >>> from posenc import Sinusoidal
        >>> heatmap(Sinusoidal(dim=128)).images[0].get_array().shape
        (100, 128)
    """
    rows = canvas.even("positions", canvas.positions_to_draw("positions", positions))
    table = _table(encoding, rows, params)
    ax = canvas.single(ax)
    canvas.draw_heatmap(ax, table, rows, np.arange(table.shape[1]), "value", {**canvas.centred(table), **keywords})
    return canvas.finish(ax, canvas.name(encoding, params=params), "dimension", "position")


def dimensions(
    encoding: AdditiveEncoding | RotaryEncoding,
    dims: Sequence[int] = (0, 21),
    positions: Any = 100,
    *,
    params: Params | None = None,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw the values of chosen dimensions against position, a line each.

    Args:
        encoding: An encoding that adds or rotates, with one axis; of a rotation, cosines and sines as in `heatmap`.
        dims: Dimensions to draw.
        positions: A count or a row of numbers.
        params: Learned parameters; drawn with seed 0, and called untrained, if left out.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.plot`.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` neither adds nor rotates pairs, equally in every head.
        ValueError: An argument breaks its rule; the message names it.
    """
    rows = canvas.positions_to_draw("positions", positions)
    table = _table(encoding, rows, params)
    chosen = validation.integers("dims", dims, 0, table.shape[1] - 1)
    ax = canvas.single(ax)
    for index, dim in enumerate(chosen):
        line = {
            "color": canvas.colour(index),
            "marker": ".",
            "markersize": 3,
            "linewidth": 1,
            "label": f"dimension {dim}",
        }
        ax.plot(rows, table[:, dim], **{**line, **keywords})
    ax.xaxis.set_major_locator(MaxNLocator(integer=rows.dtype.kind in "iu"))
    canvas.legend(ax, chosen, loc="upper left", bbox_to_anchor=(0, -0.18), ncols=4)
    return canvas.finish(ax, f"Chosen dimensions of {canvas.name(encoding, params=params)}", "position", "value")


def similarity(
    encoding: AdditiveEncoding,
    positions: Any = 100,
    *,
    params: Params | None = None,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw PE·PEᵀ, the dot product of every two rows; diagonals are constant where it depends on distance alone.

    Args:
        encoding: An encoding that adds, with one axis.
        positions: A count or evenly spaced numbers.
        params: Learned parameters; drawn with seed 0, and called untrained, if left out.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.imshow`.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` does not add.
        ValueError: An argument breaks its rule; the message names it.
    """
    rows = canvas.even("positions", canvas.positions_to_draw("positions", positions))
    validation.instance("encoding", encoding, AdditiveEncoding, canvas.ADDS)
    products = similarity_of(encoding, rows, params=params)
    ax = canvas.draw_square(ax, products, rows, literal("PE(m) · PE(n)"), keywords)
    title = f"Similarity of positions, {canvas.name(encoding, 40, params=params)}"
    return canvas.finish(ax, title, "position n", "position m")


def _table(encoding: AdditiveEncoding | RotaryEncoding, positions: np.ndarray, params: Params | None) -> np.ndarray:
    if not isinstance(encoding, AdditiveEncoding):
        validation.instance("encoding", encoding, RotaryEncoding, "an encoding that adds or rotates")
    validation.one_axis("encoding", encoding)
    drawn = drawn_params(encoding, params)
    if isinstance(encoding, AdditiveEncoding):
        return canvas.as_float64(encoding.embed(positions, drawn))
    return rotation_table(shared_rotation(encoding, positions, drawn, encoding.roles[0]))
