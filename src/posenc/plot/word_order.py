"""The order experiment as a picture: how much each word's output changes in another order, encoding by encoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from posenc.core import validation
from posenc.core.doors import Encoding, Params
from posenc.inspect import OrderBlindness, order_blindness
from posenc.inspect.order import usual_encodings
from posenc.inspect.words import words_of
from posenc.plot import canvas
from posenc.plot.fonts import literal


def word_order(
    encoding: Encoding | Sequence[OrderBlindness] | None = None,
    sentence: str = "Dog bites man",
    other: str = "Man bites dog",
    *,
    causal: bool = False,
    params: Params | None = None,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw the largest difference of each word's output between two orders, a row for each encoding.

    The rows are no encoding, the encoding and the best-known encodings; a row of zeros cannot tell the orders apart.

    Args:
        encoding: An encoding, None for the best-known ones alone, or results of `posenc.inspect.order_blindness` for
            the same two sentences.
        sentence: Words between spaces.
        other: The same words in another order.
        causal: Whether a word sees only those before it and itself.
        params: Learned parameters of `encoding`; drawn with seed 0 if left out.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.imshow`.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` is no encoding, and no list of results.
        ValueError: The sentences share no word.
    """
    if encoding is None or isinstance(encoding, Encoding):
        encoding = _compared(encoding, sentence, other, causal, params)
    given = encoding if isinstance(encoding, list | tuple) else ()
    if not given or not all(isinstance(one, OrderBlindness) for one in given):
        raise TypeError(
            f"encoding must be an encoding, None or a list of results of order_blindness; got "
            f"{validation.shown(encoding)}. Give an encoding."
        )
    first = encoding[0]
    if not first.words:
        raise ValueError(f"other must share words with sentence; got {other!r:.60}. Write the same words in it.")
    amounts = np.array([[0.0 if word.same else word.amount for word in one.words] for one in encoding])
    ax = canvas.single(ax, (max(4.2, 0.8 * len(first.words) + 2.6), 0.42 * len(encoding) + 1.5))
    scale = {"cmap": "Blues", "vmin": 0.0, "vmax": float(amounts.max()) or 1.0, "aspect": "auto"}
    ax.imshow(amounts, **{**scale, **keywords})
    for (row, column), amount in np.ndenumerate(amounts):
        colour = "white" if amount > 0.6 * amounts.max() else "black"
        shown = encoding[row].words[column].shown
        ax.text(column, row, shown, ha="center", va="center", fontsize="small", color=colour)
    ax.set_xticks(range(len(first.words)), [literal(word.word) for word in first.words])
    ax.set_yticks(range(len(encoding)), [_named(one) for one in encoding])
    masked = ", causal" if first.causal else ""
    title = literal(f"{first.sentence} / {first.other}{masked}")
    return canvas.finish(ax, title, "largest difference of the word's output", "")


def _compared(
    encoding: Encoding | None, sentence: str, other: str, causal: bool, params: Params | None
) -> list[OrderBlindness]:
    """Results of `order_blindness` for no encoding, the given one, and the best-known encodings."""
    without = order_blindness(sentence, other, causal=causal)
    own = [] if encoding is None else [order_blindness(sentence, other, encoding, causal=causal, params=params)]
    usual = usual_encodings(max(len(words_of(sentence)), len(words_of(other))))
    return [without, *own, *(order_blindness(sentence, other, one, causal=causal) for one in usual if one != encoding)]


def _named(one: OrderBlindness) -> str:
    return "no encoding" if one.encoding is None else canvas.name(one.encoding, 28)
