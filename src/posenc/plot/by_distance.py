"""Pictures of scores and biases against distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from posenc.core import validation
from posenc.core.doors import AttentionBias, Encoding, Params
from posenc.inspect import ScoreByDistance
from posenc.inspect import score_by_distance as score_of
from posenc.inspect.encoding_facts import drawn_params
from posenc.plot import canvas
from posenc.plot.fonts import literal

#: Heads drawn unless more are asked for.
HEADS = 8


def score_by_distance(
    encoding: Encoding | ScoreByDistance,
    distances: Any = 101,
    *,
    heads: Sequence[int] | None = None,
    params: Params | None = None,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw the score that position alone gives to a query so many positions after the key.

    Args:
        encoding: An encoding of any door, or the result of `posenc.inspect.score_by_distance`; then `distances` says
            nothing.
        distances: A count or a row of numbers, negative for keys after the query.
        heads: Heads to draw, a line each; at most eight from the first to the last if left out.
        params: Learned parameters; drawn with seed 0, and called untrained, if left out.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.plot`.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` is no encoding, or scores the keys between as well.
        ValueError: An argument breaks its rule; the message names it.
    """
    measured = encoding
    if not isinstance(measured, ScoreByDistance):
        measured = score_of(measured, canvas.positions_to_draw("distances", distances), params=params)
    chosen = canvas.spread("heads", heads, len(measured.scores), HEADS)
    ax = canvas.single(ax)
    ax.axhline(0, color="#c8c8c8", linewidth=0.8, zorder=0)
    _lines(ax, measured.distances, measured.scores, chosen, keywords)
    known = {} if measured is encoding else params  # a result that was handed in may be of a trained encoding
    title = f"Score by distance, {canvas.name(measured.encoding, 44, params=known)}"
    return canvas.finish(ax, title, "distance: query position - key position", literal(measured.meaning))


def bias(
    encoding: AttentionBias,
    length: int = 32,
    *,
    head: int = 0,
    params: Params | None = None,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw what one head adds to every logit: a row a query from the top, a column a key.

    Args:
        encoding: An encoding that biases logits, with one axis.
        length: Queries and keys at positions 0 … length-1.
        head: Index of the head.
        params: Learned parameters; drawn with seed 0, and called untrained, if left out.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.imshow`.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` does not bias logits.
        ValueError: An argument breaks its rule; the message names it.
    """
    validation.instance("encoding", encoding, AttentionBias, canvas.BIASES)
    validation.one_axis("encoding", encoding)
    positions = np.arange(validation.integer("length", length, 1, 4096))
    head = validation.integer("head", head, 0, encoding.heads - 1)
    drawn = drawn_params(encoding, params)
    matrix = canvas.as_float64(encoding.bias(head, positions[:, None], positions[None, :], drawn))
    ax = canvas.draw_square(ax, matrix, positions, "bias of the logit", keywords)
    title = f"Head {head} of {canvas.name(encoding, 44, params=params)}"
    return canvas.finish(ax, title, "key position", "query position")


def heads(
    encoding: AttentionBias, length: int = 24, *, params: Params | None = None, ax: Any = None, **keywords: Any
) -> np.ndarray:
    """Draw what every head adds to its logits, a panel for each of at most eight, all in the same colours.

    Args:
        encoding: An encoding that biases logits, with one axis.
        length: Queries and keys at positions 0 … length-1.
        params: Learned parameters; drawn with seed 0, and called untrained, if left out.
        ax: As many Axes as heads are drawn; a new figure if left out.
        keywords: Options of `Axes.imshow`.

    Returns:
        An array of Axes, one a head.

    Raises:
        TypeError: `encoding` does not bias logits.
        ValueError: An argument breaks its rule; the message names it.
    """
    validation.instance("encoding", encoding, AttentionBias, canvas.BIASES)
    validation.one_axis("encoding", encoding)
    positions = np.arange(validation.integer("length", length, 1, 1024))
    chosen = canvas.spread("heads", None, encoding.heads, HEADS)
    drawn = drawn_params(encoding, params)
    matrix = canvas.as_float64(encoding.matrix(positions, positions, drawn))[chosen]
    columns = min(4, len(chosen))
    rows = -(-len(chosen) // columns)
    panels = canvas.several(ax, 1, len(chosen), (0, 0)) if ax is not None else _grid(rows, columns, len(chosen))
    for panel, head, values in zip(panels, chosen, matrix, strict=True):
        image = panel.imshow(values, **{**canvas.centred(matrix), "interpolation": "nearest", **keywords})
        canvas.finish(panel, f"head {head}", "key", "query")
    panels[0].figure.colorbar(image, ax=list(panels), label="bias of the logit")
    panels[0].figure.suptitle(canvas.name(encoding, params=params), fontsize="medium")
    return panels


def _grid(rows: int, columns: int, count: int) -> np.ndarray:
    """Make a figure with `count` panels in rows and columns; the last row may be short."""
    panels = canvas.several(None, rows, columns, (2.1 * columns + 0.9, 2.1 * rows + 0.4))
    for spare in panels[count:]:
        spare.remove()
    return panels[:count]


def bias_by_distance(
    encoding: AttentionBias,
    distances: Any = range(-64, 65),
    *,
    heads: Sequence[int] | None = None,
    params: Params | None = None,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw what heads add to the logit of a query so many positions after the key, a line each.

    Args:
        encoding: An encoding that biases logits, with one axis.
        distances: A count or a row of numbers, negative for keys after the query.
        heads: Heads to draw; at most eight from the first to the last if left out.
        params: Learned parameters; drawn with seed 0, and called untrained, if left out.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.plot`.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` does not bias logits.
        ValueError: An argument breaks its rule; the message names it.
    """
    validation.instance("encoding", encoding, AttentionBias, canvas.BIASES)
    ax = score_by_distance(encoding, distances, heads=heads, params=params, ax=ax, **keywords)
    title = f"Bias by distance, {canvas.name(encoding, 44, params=params)}"
    return canvas.finish(ax, title, "distance: query position - key position", "bias of the logit")


def _lines(
    ax: Axes, distances: np.ndarray, scores: np.ndarray, chosen: Sequence[int], keywords: dict[str, Any]
) -> None:
    for index, head in enumerate(chosen):
        style = canvas.style(index // len(canvas.COLOURS))
        line = {"color": canvas.colour(index), "linestyle": style, "label": f"head {head}"}
        ax.plot(distances, scores[head], **{**line, **keywords})
    if len(scores) > 1:
        canvas.legend(ax, chosen, loc="center left", bbox_to_anchor=(1, 0.5))
