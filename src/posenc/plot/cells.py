"""Vectors and matrices as coloured cells with their numbers: E + P, the matrix of a shift, and of a rotation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding, Params, RotaryEncoding
from posenc.core.text_lines import decimals
from posenc.inspect import InputSum, rotation_matrices
from posenc.inspect import input_sum as input_sum_of
from posenc.inspect import shift_matrix as shift_matrix_of
from posenc.inspect.encoding_facts import drawn_params
from posenc.inspect.shift_matrix import shift_derivation
from posenc.learn import score_terms as terms_of
from posenc.plot import canvas
from posenc.plot.fonts import literal

#: More columns than this leave no room for numbers.
NUMBERED = 24
#: Channels of a matrix that is drawn.
WIDEST = 256


def input_sum(
    encoding: AdditiveEncoding | InputSum,
    sentence: str = "Dog bites man",
    *,
    embeddings: Array | Mapping[str, Array] | None = None,
    params: Params | None = None,
    ax: Any = None,
    **keywords: Any,
) -> np.ndarray:
    """Draw embedding, encoding and their sum, a row a word, with one scale of colours.

    Args:
        encoding: An encoding that adds, or the result of `posenc.inspect.input_sum`.
        sentence: Words between spaces.
        embeddings: (words, dim), or a vector for some words by the word; drawn if left out.
        params: Learned parameters; drawn with seed 0, and called untrained, if left out.
        ax: Three Axes; a new figure if left out.
        keywords: Options of `Axes.imshow`.

    Returns:
        An array of three Axes.

    Raises:
        TypeError: `encoding` does not add.
        ValueError: An argument breaks its rule; the message names it.
    """
    shown = _shown_sum(encoding, sentence, embeddings, params)
    parts = {"embedding E": shown.embeddings, "encoding P": shown.positional, "input X = E + P": shown.total}
    count, width = shown.total.shape
    size = (min(12.0, max(4.0, 0.42 * width + 1.2)), 3 * (0.32 * count + 0.75))
    axes = canvas.several(ax, 3, 1, size, sharex=True)
    shades = canvas.centred(np.stack(list(parts.values())))
    for panel, (name, values) in zip(axes, parts.items(), strict=True):
        _cells(panel, values, {**shades, **keywords})
        panel.set_yticks(range(count), [literal(word) for word in shown.words])
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        canvas.finish(panel, name, "dimension" if panel is axes[-1] else "", "")
    if ax is None:
        known = {} if shown is encoding else params  # a sum that was handed in may hold a trained encoding
        axes[0].figure.suptitle(canvas.name(shown.encoding, params=known), fontsize="medium")
    return axes


def _shown_sum(
    encoding: AdditiveEncoding | InputSum,
    sentence: str,
    embeddings: Array | Mapping[str, Array] | None,
    params: Params | None,
) -> InputSum:
    if isinstance(encoding, InputSum):
        return encoding
    return input_sum_of(sentence, encoding, embeddings=embeddings, params=params)


#: Titles of the panels of `score_terms`.
TERMS = ("content · content", "content · position", "position · content", "position · position", "their sum")


def score_terms(
    encoding: AdditiveEncoding | InputSum,
    sentence: str = "Dog bites man",
    *,
    embeddings: Array | Mapping[str, Array] | None = None,
    params: Params | None = None,
    ax: Any = None,
    **keywords: Any,
) -> np.ndarray:
    """Draw the scores of every two words as their four terms and the sum of these, with one scale of colours.

    Words are queries and keys themselves, x = E + P without matrices: (E + P)·(E' + P')/√d, multiplied out.

    Args:
        encoding: An encoding that adds, or the result of `posenc.inspect.input_sum`.
        sentence: Words between spaces.
        embeddings: (words, dim), or a vector for some words by the word; drawn if left out.
        params: Learned parameters; drawn with seed 0, and called untrained, if left out.
        ax: Five Axes; a new figure if left out.
        keywords: Options of `Axes.imshow`.

    Returns:
        An array of five Axes.

    Raises:
        TypeError: `encoding` does not add.
        ValueError: An argument breaks its rule; the message names it.
    """
    shown = _shown_sum(encoding, sentence, embeddings, params)
    content, position = shown.embeddings, shown.positional
    terms = terms_of(content, content, position, position)
    parts = (
        terms.content_content, terms.content_position, terms.position_content, terms.position_position, terms.total,
    )  # fmt: skip
    side = max(1.7, 0.5 * len(shown.words) + 0.5)
    axes = canvas.several(ax, 1, 5, (5 * side + 0.6, side + 0.9), sharey=True)
    shades = canvas.centred(np.stack(parts))
    names = [literal(word) for word in shown.words]
    for panel, name, values in zip(axes, TERMS, parts, strict=True):
        _cells(panel, values, {**shades, "aspect": "equal", **keywords})
        panel.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize="small")
        panel.set_yticks(range(len(names)), names, fontsize="small")
        canvas.finish(panel, literal(name), "key", "query" if panel is axes[0] else "")
        panel.title.set_fontsize("small")
    if ax is None:
        known = {} if shown is encoding else params
        axes[0].figure.suptitle(
            f"{canvas.name(shown.encoding, params=known)}: scores {literal('q·k/√d')}", fontsize="medium"
        )
    return axes


def shift_matrix(encoding: AdditiveEncoding, offset: int = 1, *, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw M(offset), which moves every row by `offset` positions: a block of two by two for each pair.

    Args:
        encoding: An encoding made of sinusoids, of at most 256 channels.
        offset: Number of steps.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.imshow`.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` is not made of sinusoids.
        ValueError: An argument breaks its rule; the message names it.
    """
    validation.instance("encoding", encoding, AdditiveEncoding, canvas.ADDS)
    validation.integer("encoding.width", encoding.width, 2, WIDEST)
    matrix = shift_matrix_of(encoding, validation.real("offset", offset, -(2**53), 2**53))
    return _square(matrix, f"M({offset}) of {canvas.name(encoding, 40)}", ax, keywords)


def rotation_matrix(
    encoding: RotaryEncoding,
    position: int = 1,
    *,
    params: Params | None = None,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw R(position), by which queries and keys are multiplied: a block of two by two for each pair.

    Args:
        encoding: An encoding that rotates pairs, of at most 256 channels.
        position: The position.
        params: Learned parameters; drawn with seed 0, and called untrained, if left out.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.imshow`.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` does not rotate pairs, equally in every head.
        ValueError: An argument breaks its rule; the message names it.
    """
    validation.instance("encoding", encoding, RotaryEncoding, canvas.ROTATES)
    validation.integer("encoding.head_dim", encoding.head_dim, 2, WIDEST)
    validation.real("position", position, -(2**53), 2**53)
    matrix = rotation_matrices(encoding, [position], drawn_params(encoding, params))[0]
    title = f"R({position}) of {canvas.name(encoding, 40, params=params)}"
    return _square(matrix, title, ax, keywords)


def derivation(
    encoding: AdditiveEncoding,
    offset: int = 1,
    position: int = 5,
    *,
    pair: int = 0,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Write the steps from the addition theorems to M(offset), each with its numbers.

    Args:
        encoding: An encoding made of sinusoids.
        offset: Number of steps, a whole number.
        position: Position t, a whole number.
        pair: Index of the pair.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.text`.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` is not made of sinusoids.
        ValueError: An argument breaks its rule; the message names it.
    """
    derived = shift_derivation(encoding, offset, position=position, pair=pair)
    title, *lines = derived.lines()
    ax = canvas.single(ax, (8.0, 0.25 * len(lines) + 0.5))
    for row, line in enumerate(lines):
        indented = line.startswith("  ")
        look = {"family": "monospace", "fontsize": "small"} if indented else {"fontsize": "medium"}
        height = 1 - (row + 0.5) / len(lines)
        ax.text(0.04 * indented, height, literal(line.strip()), va="center", **{**look, **keywords})
    ax.set_axis_off()
    ax.set_title(literal(title), fontsize="medium")
    return ax


def _square(matrix: np.ndarray, title: str, ax: Axes | None, keywords: dict[str, Any]) -> Axes:
    """Draw a square matrix as cells: columns are input dimensions, rows are output dimensions."""
    side = min(9.0, max(3.0, 0.45 * len(matrix) + 0.8))
    ax = canvas.single(ax, (side, side))
    _cells(ax, matrix, {**canvas.centred(matrix), "aspect": "equal", **keywords})
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    return canvas.finish(ax, title, "from dimension", "to dimension")


def _cells(ax: Axes, values: np.ndarray, keywords: dict[str, Any]) -> None:
    """Draw coloured cells, with numbers where there is room."""
    image = ax.imshow(values, **{"aspect": "auto", "interpolation": "nearest", **keywords})
    if values.shape[1] > NUMBERED:
        return
    canvas.draw_numbers(
        ax,
        values,
        lambda value: decimals(value, 2).replace("-", "−"),
        lambda value: abs(float(np.asarray(image.norm(value))) - 0.5) > 0.35,
    )
