"""Which word looks at which: the attention weights of one layer, with or without an encoding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.core import text_lines
from posenc.core.doors import Encoding, Params
from posenc.inspect.order import checked_words, word_layer


@dataclass(frozen=True, eq=False)
class AttentionMap(text_lines.Lines):
    """Attention weights of one layer for one sentence.

    Args:
        weights: (heads, words, words), float64; a row is a query, and its weights sum to 1.
        steps: Of training before it.
    """

    words: tuple[str, ...]
    encoding: Encoding | None
    causal: bool
    weights: np.ndarray
    steps: int = 0

    def lines(self) -> list[str]:
        name = "no encoding" if self.encoding is None else text_lines.short(self.encoding)
        training = f"after {text_lines.count(self.steps, 'step')} of training" if self.steps else "untrained"
        title = f'"{" ".join(self.words)}", {name}, {"causal" if self.causal else "not causal"}, {training}'
        tables = [title]
        for head, weights in enumerate(self.weights):
            rows = [
                [word, *(text_lines.decimals(weight, 2) for weight in row)]
                for word, row in zip(self.words, weights, strict=True)
            ]
            tables += [f"head {head}: rows look at columns", *text_lines.aligned(["", *self.words], rows)]
        return tables


def attention_map(
    sentence: str,
    encoding: Encoding | None = None,
    *,
    causal: bool = False,
    seed: int = 0,
    params: Params | None = None,
) -> AttentionMap:
    """The weights softmax(QKᵀ/√d + ...) of one layer with projections drawn from the seed, for the words of a sentence.

    The layer, its words' vectors and the projections are those of `order_blindness`. Vaswani et al. 2017,
    arXiv:1706.03762, eq. 1.

    Raises:
        ValueError: A value breaks its rule; the message names the argument.
        TypeError: A value breaks its rule; the message names the argument.

    Example:
        >>> attention_map("Dog bites man").weights.shape
        (2, 3, 3)
    """
    words = checked_words("sentence", sentence)
    layer = word_layer(encoding, causal=causal, seed=seed, params=params)
    weights = np.asarray(layer.attended([words]).weights[0], dtype=np.float64)
    return AttentionMap(tuple(words), layer.encoding, causal, weights)
