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
        results, names = _compared(encoding, sentence, other, causal, params)
    else:
        results = _handed_in(encoding)
        names = [_named(one.encoding, {}) for one in results]  # what they learned may be trained
    first = results[0]
    if not first.words:
        raise ValueError(f"other must share words with sentence; got {other!r:.60}. Write the same words in it.")
    amounts = np.array([[0.0 if word.same else word.amount for word in one.words] for one in results])
    ax = canvas.single(ax, (max(4.2, 0.8 * len(first.words) + 2.6), 0.42 * len(results) + 1.5))
    scale = {"cmap": "Blues", "vmin": 0.0, "vmax": float(amounts.max()) or 1.0, "aspect": "auto"}
    ax.imshow(amounts, **{**scale, **keywords})
    for (row, column), amount in np.ndenumerate(amounts):
        colour = "white" if amount > 0.6 * amounts.max() else "black"
        shown = results[row].words[column].shown
        ax.text(column, row, shown, ha="center", va="center", fontsize="small", color=colour)
    ax.set_xticks(range(len(first.words)), [literal(word.word) for word in first.words])
    ax.set_yticks(range(len(results)), names)
    masked = ", causal" if first.causal else ""
    title = literal(f"{first.sentence} / {first.other}{masked}")
    return canvas.finish(ax, title, "largest difference of the word's output", "")


def _compared(
    encoding: Encoding | None, sentence: str, other: str, causal: bool, params: Params | None
) -> tuple[list[OrderBlindness], list[str]]:
    """Results of `order_blindness` for no encoding, the given one, and the best-known encodings, with their names."""
    without = order_blindness(sentence, other, causal=causal)
    usual = usual_encodings(max(len(words_of(sentence)), len(words_of(other))))
    own = [] if encoding is None else [(encoding, params)]
    drawn = [*own, *((one, None) for one in usual if one != encoding)]
    results = [order_blindness(sentence, other, one, causal=causal, params=learned) for one, learned in drawn]
    return [without, *results], [_named(None, None), *(_named(one, learned) for one, learned in drawn)]


def _handed_in(results: Any) -> list[OrderBlindness]:
    given: Sequence[Any] = results if isinstance(results, list | tuple) else ()
    if not given or not all(isinstance(one, OrderBlindness) for one in given):
        raise TypeError(
            f"encoding must be an encoding, None or a list of results of order_blindness; got "
            f"{validation.shown(results)}. Give an encoding."
        )
    return list(given)


def _named(encoding: Encoding | None, params: Params | None) -> str:
    return "no encoding" if encoding is None else canvas.name(encoding, 28, params=params)
