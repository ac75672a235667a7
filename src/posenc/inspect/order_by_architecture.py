"""Recurrence, convolution and self-attention without an encoding: the same words in two orders through each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from posenc.core import text_lines, validation
from posenc.inspect.order import (
    DIM,
    WordChange,
    change_lines,
    embedding,
    word_changes,
    word_layer,
)
from posenc.inspect.words import checked_words, spelling

#: Words that a convolution reads at once: the word and its two neighbours.
KERNEL = 3


@dataclass(frozen=True, eq=False)
class ArchitectureOrder(text_lines.Lines):
    """Outputs of a layer for the same words in two orders.

    Attributes:
        architecture: "recurrence", "convolution" or "attention".
        sentence: The first order.
        other: The second order.
        here: Outputs in the first order, (words, channels).
        there: Outputs in the second order, (words, channels).
        words: Each word compared with itself.
    """

    architecture: str
    sentence: str
    other: str
    here: np.ndarray
    there: np.ndarray
    words: tuple[WordChange, ...]

    @property
    def blind(self) -> bool:
        """Whether no word's output differs by more than rounding."""
        return all(word.same for word in self.words)

    def lines(self) -> list[str]:
        """The verdict, then a line for each word."""
        verdict = "cannot distinguish the orders" if self.blind else "distinguishes the orders"
        return [f"{self.architecture} {verdict}", *change_lines(self.words)]


def order_by_architecture(sentence: str, other: str, *, seed: int = 0) -> tuple[ArchitectureOrder, ...]:
    """Compare the same words in two orders through a recurrence, a convolution and self-attention.

    None of them has an encoding. The recurrence is h_t = tanh(W·x_t + U·h_(t-1)); the convolution is
    y_t = tanh(Σ_j K_j·x_(t+j)), j = -1, 0, 1, with zeros outside the sentence; attention is softmax(QKᵀ/√d)V without a
    causal mask. Weights are normally distributed; words have the vectors of `order_blindness`.

    Args:
        sentence: Words between spaces.
        other: The same words in another order.
        seed: Seed of the weights and the words' vectors.

    Returns:
        A comparison for each of the three.

    Raises:
        TypeError: A sentence is no text.
        ValueError: A sentence has no words, or `seed` breaks its rule.

    References:
        Elman 1990; Vaswani et al. 2017, arXiv:1706.03762, eq. 1.

    Example:
        >>> [(one.architecture, one.blind) for one in order_by_architecture("Dog bites man", "Man bites dog")]
        [('recurrence', False), ('convolution', False), ('attention', True)]
    """
    first, second = checked_words("sentence", sentence), checked_words("other", other)
    seed = validation.integer("seed", seed, 0, (1 << 63) - 1)
    shown, results = spelling(sentence, other), []
    for name, layer in LAYERS.items():
        here, there = layer(first, seed), layer(second, seed)
        changes, _ = word_changes((first, here), (second, there), DIM)
        changes = tuple(replace(change, word=shown[change.word]) for change in changes)
        results.append(ArchitectureOrder(name, sentence, other, here, there, changes))
    return tuple(results)


def _recurrence(words: list[str], seed: int) -> np.ndarray:
    inward, onward = np.random.default_rng([seed, 1]).standard_normal((2, DIM, DIM)) / np.sqrt(DIM)
    state, states = np.zeros(DIM), []
    for vector in _vectors(words, seed):
        state = np.tanh(vector @ inward + state @ onward)
        states.append(state)
    return np.stack(states)


def _convolution(words: list[str], seed: int) -> np.ndarray:
    kernel = np.random.default_rng([seed, 2]).standard_normal((KERNEL, DIM, DIM)) / np.sqrt(KERNEL * DIM)
    padded = np.pad(_vectors(words, seed), ((KERNEL // 2, KERNEL // 2), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, KERNEL, axis=0)
    return np.asarray(np.tanh(np.einsum("tdj,jde->te", windows, kernel)))


def _attention(words: list[str], seed: int) -> np.ndarray:
    return np.asarray(word_layer(None, causal=False, seed=seed).outputs([words])[0])


def _vectors(words: list[str], seed: int) -> np.ndarray:
    return np.stack([embedding(word, DIM, seed) for word in words])


#: A layer of each architecture, by its name.
LAYERS: Mapping[str, Callable[[list[str], int], np.ndarray]] = {
    "recurrence": _recurrence,
    "convolution": _convolution,
    "attention": _attention,
}
