"""Pictures of attention weights, and of the head that looks k tokens back."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from posenc.core import validation
from posenc.core.doors import AdditiveEncoding, Encoding, Params
from posenc.inspect import AttentionMap, LookBack
from posenc.inspect import attention_map as attention_map_of
from posenc.inspect import look_back as look_back_of
from posenc.inspect.look_back import MOST
from posenc.plot import canvas
from posenc.plot.fonts import literal

#: Words up to which every cell holds its number.
NUMBERED = 12


def attention_map(
    encoding: Encoding | AttentionMap | None,
    sentence: str = "Dog bites man",
    *,
    causal: bool = False,
    params: Params | None = None,
    ax: Any = None,
    **keywords: Any,
) -> np.ndarray:
    """Draw the attention weights of each head: a row a query, a column a key.

    Args:
        encoding: An encoding, None for none, or the result of `posenc.inspect.attention_map` or of a training.
        sentence: Words between spaces.
        causal: Whether a word sees only those before it and itself.
        params: Learned parameters; drawn with seed 0 if left out.
        ax: As many Axes as heads; a new figure if left out.
        keywords: Options of `Axes.imshow`.

    Returns:
        An array of Axes, one a head.

    Raises:
        TypeError: `encoding` is no encoding.
        ValueError: `sentence` has no words.
    """
    if not isinstance(encoding, AttentionMap):
        encoding = attention_map_of(sentence, encoding, causal=causal, params=params)
    heads, words = len(encoding.weights), encoding.words
    side = max(2.0, 0.5 * len(words) + 0.9)
    axes = canvas.several(ax, 1, heads, (side * heads, side + 0.5))
    for head, (panel, weights) in enumerate(zip(axes, encoding.weights, strict=True)):
        panel.imshow(weights, **{"cmap": "Blues", "vmin": 0.0, "vmax": 1.0, **keywords})
        if len(words) <= NUMBERED:
            canvas.draw_numbers(panel, weights, "{:.2f}".format, lambda weight: weight > 0.6)
        ticks = range(len(words))
        panel.set_xticks(ticks, [literal(word) for word in words], rotation=45, ha="right")
        panel.set_yticks(ticks, [literal(word) for word in words])
        canvas.finish(panel, f"head {head}", "key", "query" if not head else "")
    name = "no encoding" if encoding.encoding is None else canvas.name(encoding.encoding, 40, params={})
    trained = f"after {encoding.steps} steps" if encoding.steps else "in an untrained layer"
    axes[0].figure.suptitle(f"{name}, {trained}", fontsize="medium")
    return axes


def look_back(
    encoding: AdditiveEncoding | LookBack,
    offset: int = 3,
    positions: int = 32,
    *,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw the scores of the head that looks `offset` tokens back, the largest of each row marked by a dot.

    Args:
        encoding: An encoding made of sinusoids, or the result of `posenc.inspect.look_back`.
        offset: Tokens to look back.
        positions: How many positions there are.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.imshow`.

    Returns:
        The Axes.

    Raises:
        TypeError: `encoding` is not made of sinusoids.
        ValueError: An argument breaks its rule; the message names it.
    """
    shown = _looked_back(encoding, offset, positions)
    index = np.arange(len(shown.target))
    ax = canvas.draw_square(ax, shown.scores, index, "score", keywords)
    ax.plot(shown.target, index, linestyle="none", marker="o", markersize=3, color="#D55E00")
    title = f"A head that looks {shown.offset} back, {canvas.name(shown.encoding, 36)}"
    return canvas.finish(ax, title, "key position s", "query position t")


def _looked_back(encoding: AdditiveEncoding | LookBack, offset: int, positions: int) -> LookBack:
    """Result of `posenc.inspect.look_back`: the given one, or computed for an encoding."""
    if isinstance(encoding, LookBack):
        return encoding
    return look_back_of(encoding, offset, validation.integer("positions", positions, 2, MOST))
