"""Similarity of positions: dot products of their rows, and the score of two tokens against their distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.core import arrays, text_lines, validation
from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, Params, RotaryEncoding
from posenc.core.rotation import at_every_head
from posenc.inspect.encoding_facts import drawn_params


@dataclass(frozen=True, eq=False)
class ScoreByDistance(text_lines.Lines):
    """Scores of a query `distance` steps behind a key, distance = query - key.

    Attributes:
        encoding: The encoding.
        distances: The distances, (n,).
        scores: The scores, (curves, n): a curve for each head where heads differ, else one.
        meaning: The score in words.
    """

    encoding: Encoding
    distances: np.ndarray
    scores: np.ndarray
    meaning: str

    def lines(self) -> list[str]:
        """A row for each distance."""
        names = ["score"] if len(self.scores) == 1 else [f"head {head}" for head in range(len(self.scores))]
        rows = (
            [text_lines.number(distance), *(text_lines.number(value, 4) for value in column)]
            for distance, column in zip(self.distances, self.scores.T, strict=True)
        )
        return [f"{text_lines.short(self.encoding)}: {self.meaning}", *text_lines.aligned(["distance", *names], rows)]


def similarity(encoding: AdditiveEncoding, positions: Array, *, params: Params | None = None) -> np.ndarray:
    """Product PE·PEᵀ of every two rows.

    Args:
        encoding: An encoding that adds, with one axis.
        positions: Positions, (n,).
        params: Learned parameters; drawn with seed 0 if left out.

    Returns:
        The products in float64, (n, n).

    Raises:
        TypeError: `encoding` does not add.
        ValueError: `positions` is no row of numbers, or too long.

    Example:
        >>> from posenc import Sinusoidal
        >>> similarity(Sinusoidal(dim=2), [0, 1]).round(4).tolist()
        [[1.0, 0.5403], [0.5403, 1.0]]
    """
    validation.instance("encoding", encoding, AdditiveEncoding, "an encoding that adds")
    validation.one_axis("encoding", encoding)
    at = _line("positions", positions)
    validation.size("positions", at.size**2)
    rows = np.asarray(encoding.embed(at, drawn_params(encoding, params)))
    return np.asarray(rows @ rows.T)


def score_by_distance(
    encoding: Encoding, distances: Array, *, key_position: int = 0, params: Params | None = None
) -> ScoreByDistance:
    """Score that the encoding alone gives to a query and a key, by their distance.

    An encoding that adds gives PE(query)·PE(key); one that rotates q·k/√d for q and k of ones; one that biases the bias
    of every head; one that scores its term of the logit for q and k of ones, of every head.

    Args:
        encoding: An encoding of any door, with one axis.
        distances: Query - key, (n,).
        key_position: Position of the key.
        params: Learned parameters; drawn with seed 0 if left out.

    Returns:
        The scores, a curve for each head where heads differ.

    Raises:
        TypeError: `encoding` is no encoding, or scores the keys between as well.
        ValueError: `distances` is no row of numbers, or `encoding` has several axes.

    Example:
        >>> from posenc import RoPE
        >>> score_by_distance(RoPE(dim=2), [0, 1]).scores.round(4).tolist()
        [[1.4142, 0.7641]]
    """
    validation.instance("encoding", encoding, Encoding, "an encoding")
    validation.one_axis("encoding", encoding)
    distances = _line("distances", distances)
    at_key = np.array([validation.integer("key_position", key_position, -(2**52), 2**52)])
    query_positions, params = arrays.library(distances).signed(distances) + at_key, drawn_params(encoding, params)
    if isinstance(encoding, AdditiveEncoding):
        scores = (np.asarray(encoding.embed(query_positions, params)) @ np.asarray(encoding.embed(at_key, params)).T).T
        return ScoreByDistance(encoding, distances, scores, "PE(query)·PE(key)")
    if isinstance(encoding, RotaryEncoding):
        ones = np.ones((query_positions.size, encoding.head_dim))
        q = at_every_head(encoding.rotation(query_positions, params, role="query"), ones)
        k = at_every_head(encoding.rotation(at_key, params, role="key"), ones[:1])
        scores = (q @ np.swapaxes(k, -1, -2) / np.sqrt(encoding.head_dim)).reshape(-1, query_positions.size)
        return ScoreByDistance(encoding, distances, scores, "q·k/√d for q and k of ones")
    if isinstance(encoding, AttentionBias):
        scores = encoding.matrix(query_positions, at_key, params)[..., 0]
        return ScoreByDistance(encoding, distances, scores, "the bias of each head")
    if isinstance(encoding, AttentionScore):
        heads, width = int(getattr(encoding, "heads", 1)), int(getattr(encoding, "dim", 8))
        q, k = np.ones((1, heads, query_positions.size, width)), np.ones((1, heads, 1, width))
        if encoding.gathers:
            raise TypeError(
                f"encoding must have a score that depends on its own key alone; got {validation.shown(encoding)}, "
                "which reads the keys between."
            )
        read = encoding.hidden_length(query_positions.size, 1)
        x = np.ones((1, read, encoding.model_dim)) if encoding.reads else None  # type: ignore[attr-defined]
        scores = np.asarray(encoding.score(q, k, query_positions, at_key, params, hidden=x))[0, :, :, 0]
        return ScoreByDistance(encoding, distances, scores, "the score of each head for q and k of ones")
    raise TypeError(
        f"encoding must enter through one of the four doors; got {validation.shown(encoding)}. Derive it from one."
    )


def _line(name: str, values: Array) -> np.ndarray:
    array = arrays.numbers_on_host(name, values)
    if array.ndim != 1 or not array.size:
        raise ValueError(
            f"{name} must be a list of numbers, at least one; got shape {array.shape}. Give range(100), say."
        )
    return array
