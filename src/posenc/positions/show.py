"""Positions as text: a line for each coordinate, a column for each token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posenc.core import arrays, validation
from posenc.core.text_lines import number
from posenc.positions.placed_tokens import PlacedTokens

#: The most tokens of one text, and the usual names of so many coordinates.
MOST_TOKENS = 4096
NAMES = {1: ("position",), 2: ("row", "column"), 3: ("time", "height", "width")}


def show(positions: Any, *, names: Sequence[str] | None = None, width: int = 100) -> str:
    """Draw positions as text: a line for each coordinate, a column for each token, folded to a width.

    Args:
        positions: (n,) or (batch, n), or (n, axes) or (batch, n, axes) with names of axes; or the result of
            `multimodal`.
        names: Name of each coordinate; None for positions of one coordinate, or for a result of `multimodal`.
        width: Characters of a line.

    Returns:
        Lines, without an end of line behind the last.

    Raises:
        TypeError: Positions are no numbers, or an argument has the wrong type.
        ValueError: There are more than 4096 tokens, names do not fit the coordinates, or the width is too small.

    Example:
        >>> from posenc.positions import Image, Text, media, packed
        >>> print(show(media([Text(2), Image(2, 2, merge=1)], after="extent")[0], names=("time", "height", "width")))
        token   0 1 2 3 4 5
        time    0 1 2 2 2 2
        height  0 1 2 2 3 3
        width   0 1 2 3 2 3
        >>> print(show(packed([3, 2])))
        token     0 1 2 3 4
        position  0 1 2 0 1
    """
    width = validation.integer("width", width, 20, 1 << 16)
    rows, labels = named_rows(positions, names)
    validation.integer("positions, counted in tokens,", rows.shape[0] * rows.shape[1], 1, MOST_TOKENS)
    lines: list[str] = []
    for row, places in enumerate(rows):
        lines += [f"row {row}"] * (len(rows) > 1) + _folded(places, labels, width)
    return "\n".join(lines)


def named_rows(positions: Any, names: Sequence[str] | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Positions as (batch, n, axes), and the name of each coordinate.

    Example:
        >>> named_rows([5, 6], None)[0].tolist()
        [[[5], [6]]]
    """
    if isinstance(positions, PlacedTokens):
        usual = NAMES.get(positions.axes, tuple(f"axis {axis}" for axis in range(positions.axes)))
        names = names if names is not None else positions.names or usual
        positions = positions.coordinates
    found = arrays.numbers_on_host("positions", positions)
    listed = NAMES[1] if names is None else validation.instance("names", names, Sequence, "a list of words")
    labels = tuple(validation.text("names", name) for name in listed)
    found = found[..., None] if names is None or len(labels) == 1 else found
    if found.ndim not in (2, 3) or found.shape[-1] != len(labels):
        raise ValueError(
            f"names must name each coordinate of positions; got {len(labels)} for shape {found.shape}. Give "
            "('time', 'height', 'width'), say."
        )
    return found[None] if found.ndim == 2 else found, labels


def _shown(place: float) -> str:
    """A whole position with all of its digits, another one as a number."""
    return str(int(place)) if float(place).is_integer() else number(place)


def _folded(places: np.ndarray, names: tuple[str, ...], width: int) -> list[str]:
    """Lines of one row of tokens, the first of each block with their indices."""
    table = [[str(token) for token in range(len(places))], *(list(map(_shown, axis.tolist())) for axis in places.T)]
    cell = max(len(text) for line in table for text in line)
    labels = ["token", *names]
    margin = max(map(len, labels)) + 1
    columns = max((width - margin) // (cell + 1), 1)
    lines = []
    for begin in range(0, len(places), columns):
        for label, line in zip(labels, table, strict=True):
            cells = "".join(f" {text:>{cell}}" for text in line[begin : begin + columns])
            lines.append(f"{label:<{margin}}{cells}")
    return lines
