"""Input of the first layer, embedding + encoding, for every token; and several positions in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core import arrays, text_lines, validation
from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding, Params
from posenc.inspect.encoding_facts import added, drawn_params
from posenc.inspect.order import embedding
from posenc.inspect.words import checked_words, spelling


@dataclass(frozen=True, eq=False)
class PositionTable(text_lines.Lines):
    """Encoding at several positions: a row a position, a column a dimension.

    Attributes:
        encoding: The encoding.
        positions: The positions, (n,).
        rows: The encoding at each, float64, (n, width).
    """

    encoding: AdditiveEncoding
    positions: np.ndarray
    rows: np.ndarray

    def lines(self) -> list[str]:
        """The encoding, then the table."""
        body = [
            [text_lines.number(position), *map(text_lines.decimals, row)]
            for position, row in zip(self.positions, self.rows, strict=True)
        ]
        return [
            text_lines.short(self.encoding),
            *text_lines.aligned(["position", *map(str, range(self.rows.shape[1]))], body),
        ]


def position_table(encoding: AdditiveEncoding, positions: Any, *, params: Params | None = None) -> PositionTable:
    """Compute the rows of an additive encoding at given positions, as a table.

    Args:
        encoding: An encoding that adds, with one axis.
        positions: Positions, (n,).
        params: Learned parameters; drawn with seed 0 if left out.

    Returns:
        The rows in float64.

    Raises:
        TypeError: `encoding` does not add.
        ValueError: `positions` is no row of numbers, or `encoding` has several axes.

    Example:
        >>> from posenc import Sinusoidal
        >>> position_table(Sinusoidal(dim=4), [0, 1]).rows.round(4).tolist()
        [[0.0, 1.0, 0.0, 1.0], [0.8415, 0.5403, 0.01, 1.0]]
    """
    validation.instance("encoding", encoding, AdditiveEncoding, "an encoding that adds")
    validation.one_axis("encoding", encoding)
    positions = arrays.numbers_on_host("positions", positions)
    if positions.ndim != 1 or not positions.size:
        raise ValueError(f"positions must be a row of numbers; got shape {positions.shape}. Write [0, 1, 2], say.")
    validation.size("positions", positions.size * encoding.width)
    rows = np.asarray(encoding.embed(positions, drawn_params(encoding, params)), dtype=np.float64)
    return PositionTable(encoding, positions, rows)


@dataclass(frozen=True, eq=False)
class InputSum(text_lines.Lines):
    """Sum X = E + P of token embeddings and encoding.

    Attributes:
        words: The words of the sentence.
        encoding: The encoding.
        embeddings: E, (words, dim).
        positional: P, (words, dim).
        total: X, (words, dim).
    """

    words: tuple[str, ...]
    encoding: AdditiveEncoding
    embeddings: np.ndarray
    positional: np.ndarray
    total: np.ndarray

    def lines(self) -> list[str]:
        """E, P and X of every word."""
        lines = [f"X = E + P with {text_lines.short(self.encoding)}"]
        for position, word in enumerate(self.words):
            parts = (("E", self.embeddings), ("P", self.positional), ("X", self.total))
            lines += [f"{word}, position {position}"]
            lines += [f"  {name} = {text_lines.vector(values[position], 2)}" for name, values in parts]
        return lines


def input_sum(
    sentence: str,
    encoding: AdditiveEncoding,
    *,
    embeddings: Array | Mapping[str, Array] | None = None,
    seed: int = 0,
    params: Params | None = None,
) -> InputSum:
    """Embedding + encoding of every word of a sentence, as the first layer receives them.

    Args:
        sentence: Words between spaces.
        encoding: An encoding that adds, with one axis.
        embeddings: (words, dim), or a vector (dim,) for some words by the word. Words without one have theirs drawn
            from the seed and the letters of the word, as in `order_blindness`.
        seed: Seed of the embeddings.
        params: Learned parameters; drawn with seed 0 if left out.

    Returns:
        Embeddings, encoding and their sum.

    Raises:
        TypeError: `sentence` is no text, or `encoding` does not add, or is appended to the embedding.
        ValueError: `embeddings` has another shape or is not finite, or `sentence` has no words.

    References:
        Vaswani et al. 2017, arXiv:1706.03762, §3.5.

    Example:
        >>> from posenc import Sinusoidal
        >>> input_sum("Dog bites man", Sinusoidal(dim=4)).total.shape
        (3, 4)
    """
    words, seed = checked_words("sentence", sentence), validation.integer("seed", seed, 0, (1 << 63) - 1)
    added(encoding)
    table = position_table(encoding, np.arange(len(words)), params=params)
    if embeddings is None or isinstance(embeddings, Mapping):
        embeddings = _by_word(words, encoding.width, seed, embeddings or {})
    values = np.asarray(arrays.numbers_on_host("embeddings", embeddings), dtype=np.float64)
    if values.shape != table.rows.shape or not np.isfinite(values).all():
        raise ValueError(
            f"embeddings must be finite numbers of shape {table.rows.shape}, words by dimensions; got shape "
            f"{values.shape}. Give one vector for each word."
        )
    shown = spelling(sentence)
    return InputSum(tuple(shown[word] for word in words), encoding, values, table.rows, values + table.rows)


def _by_word(words: list[str], width: int, seed: int, given: Mapping[str, Any]) -> np.ndarray:
    """A row for each word: the given one, else drawn."""
    rows: dict[str, np.ndarray] = {}
    for word, row in given.items():
        if word.lower() not in words:
            raise ValueError(
                f"embeddings must name words of the sentence; got {word!r:.60}. They are {', '.join(words)}."
            )
        if word.lower() in rows:
            raise ValueError(f"embeddings must name a word once; got {word!r:.60} twice. Leave one out.")
        rows[word.lower()] = np.asarray(arrays.numbers_on_host("embeddings", row), dtype=np.float64)
    for word, row in rows.items():
        if row.shape != (width,):
            raise ValueError(
                f"embeddings must have {width} numbers for a word; got shape {row.shape} for {word!r:.60}. Give one "
                "for each dimension."
            )
    return np.stack([rows[word] if word in rows else embedding(word, width, seed) for word in words])
