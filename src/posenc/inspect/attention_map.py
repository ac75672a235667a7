"""Attention weights of one layer for a sentence, with or without an encoding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.core import text_lines
from posenc.core.doors import Encoding, Params
from posenc.inspect.order import word_layer
from posenc.inspect.words import checked_words, spelling


@dataclass(frozen=True, eq=False)
class AttentionMap(text_lines.Lines):
    """Attention weights of one layer for one sentence.

    Attributes:
        words: The words of the sentence.
        encoding: The encoding, or None.
        causal: Whether a word sees only those before it and itself.
        weights: Weights in float64, (heads, words, words); a row is a query, and its weights sum to 1.
        steps: Training steps before it.
    """

    words: tuple[str, ...]
    encoding: Encoding | None
    causal: bool
    weights: np.ndarray
    steps: int = 0

    def lines(self) -> list[str]:
        """A table of weights for each head."""
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
    """Weights softmax(QKᵀ/√d + ...) of one untrained layer for the words of a sentence.

    The layer, its words' vectors and the projections are those of `order_blindness`, drawn from the seed.

    Args:
        sentence: Words between spaces.
        encoding: An encoding of any door, or None.
        causal: Whether a word sees only those before it and itself.
        seed: Seed of the words' vectors and the projections.
        params: Learned parameters; drawn from the seed if left out.

    Returns:
        The weights of every head.

    Raises:
        TypeError: `sentence` is no text, or `encoding` is no encoding.
        ValueError: `sentence` has no words.

    References:
        Vaswani et al. 2017, arXiv:1706.03762, eq. 1.

    Example:
        >>> attention_map("Dog bites man").weights.shape
        (2, 3, 3)
    """
    words = checked_words("sentence", sentence)
    layer = word_layer(encoding, causal=causal, seed=seed, params=params)
    weights = np.asarray(layer.attended([words]).weights[0], dtype=np.float64)
    shown = spelling(sentence)
    return AttentionMap(tuple(shown[word] for word in words), layer.encoding, causal, weights)
