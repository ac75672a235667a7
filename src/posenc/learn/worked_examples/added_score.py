"""Score of a given query and key vector with an added encoding, as four terms with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posenc.core import arrays, text_lines
from posenc.core.doors import AdditiveEncoding
from posenc.inspect.encoding_facts import added
from posenc.inspect.input_sum import position_table
from posenc.learn.worked_examples.score_terms import ScoreTerms, score_terms

#: Products that a line spells out.
MOST = 8


@dataclass(frozen=True, eq=False)
class AddedScore(text_lines.Lines):
    """(x + p)·(x' + p')/√d, multiplied out; x and x' are taken as query and key themselves, without matrices.

    Attributes:
        encoding: The encoding.
        position: Position of the query.
        key: Position of the key.
        vectors: x, p, x', p', each (dim,), by their names.
        terms: The four terms, each (1, 1).
    """

    encoding: AdditiveEncoding
    position: int | float
    key: int | float
    vectors: dict[str, np.ndarray]
    terms: ScoreTerms

    def lines(self) -> list[str]:
        """The vectors, then each term with its numbers, and their sum."""
        places = {"p": self.position, "p'": self.key}
        width = len(self.vectors["x"])
        given = [
            f"{name} = "
            + (f"PE({text_lines.number(places[name])}) = " if name in places else "")
            + text_lines.vector(row)
            for name, row in self.vectors.items()
        ]
        named = (("content", "x"), ("position", "p"))
        terms = []
        for left, one in named:
            for right, other in named:
                product = self._product(one, other + "'")
                terms.append(f"  {left + ' · ' + right:<20} {one}·{other}'/√{width} = {product}")
        total = text_lines.number(float(self.terms.total.item()))
        return [
            f"score of a query at {text_lines.number(self.position)} with a key at {text_lines.number(self.key)}, "
            f"{text_lines.short(self.encoding)}, no matrices",
            *given,
            f"(x + p)·(x' + p')/√{width} = x·x'/√{width} + x·p'/√{width} + p·x'/√{width} + p·p'/√{width}",
            *terms,
            f"  {'sum':<20} {total}",
        ]

    def _product(self, left: str, right: str) -> str:
        one, other = self.vectors[left], self.vectors[right]
        value = text_lines.number(float(one @ other) / len(one) ** 0.5)
        if len(one) > MOST:
            return value
        parts = " + ".join(f"{_bracketed(a)}·{_bracketed(b)}" for a, b in zip(one, other, strict=True))
        return f"({parts})/{text_lines.number(len(one) ** 0.5, 4)} = {value}"


def added_score(
    encoding: AdditiveEncoding,
    query_vector: Sequence[float],
    key_vector: Sequence[float],
    *,
    position: int | float,
    key: int | float,
) -> AddedScore:
    """Multiply out the score of a query and a key to which an encoding is added.

    Args:
        encoding: An encoding that adds, with one axis.
        query_vector: x, (dim,).
        key_vector: x', (dim,).
        position: Position of the query.
        key: Position of the key.

    Returns:
        The vectors and the four terms.

    Raises:
        TypeError: `encoding` does not add, or is appended to the embedding.
        ValueError: A vector has another width or is not finite, or the encoding has several axes.

    Example:
        >>> from posenc import Sinusoidal
        >>> added_score(Sinusoidal(dim=2), [1, 0], [0, 1], position=1, key=0).lines()[-1]
        '  sum                  0.764103'
    """
    added(encoding)
    at_query, at_key = position_table(encoding, [position, key]).rows
    x, other = (
        _vector(name, values, len(at_query))
        for name, values in (("query_vector", query_vector), ("key_vector", key_vector))
    )
    vectors = {"x": x, "p": at_query, "x'": other, "p'": at_key}
    terms = score_terms(x[None], other[None], at_query[None], at_key[None])
    return AddedScore(encoding, position, key, vectors, terms)


def _vector(name: str, values: Sequence[float], width: int) -> np.ndarray:
    row = np.asarray(arrays.numbers_on_host(name, values), dtype=np.float64)
    if row.shape != (width,) or not np.isfinite(row).all():
        raise ValueError(f"{name} must be {width} finite numbers; got shape {row.shape}. Give one for each dimension.")
    return row


def _bracketed(value: float) -> str:
    text = text_lines.number(value, 4)
    return f"({text})" if text.startswith("-") else text
