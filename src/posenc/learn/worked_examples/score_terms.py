"""The score of two tokens with added encodings, taken apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.core import arrays, text_lines, validation
from posenc.core.arrays import Array


@dataclass(frozen=True, eq=False)
class ScoreTerms(text_lines.Lines):
    """The four terms of (x+p)·(x'+p') = x·x' + x·p' + p·x' + p·p', times the scale.

    Attributes:
        content_content: x·x', (*batch, n, m).
        content_position: x·p', (*batch, n, m).
        position_content: p·x', (*batch, n, m).
        position_position: p·p', (*batch, n, m).
    """

    content_content: np.ndarray
    content_position: np.ndarray
    position_content: np.ndarray
    position_position: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Score of the sums, (*batch, n, m)."""
        return np.asarray(self.content_content + self.content_position + self.position_content + self.position_position)

    def lines(self) -> list[str]:
        """Each term and the sum, as numbers or root mean squares."""
        named = [
            ("content · content", self.content_content),
            ("content · position", self.content_position),
            ("position · content", self.position_content),
            ("position · position", self.position_position),
            ("sum", self.total),
        ]
        if self.total.size == 1:
            return [f"{name:<20} {text_lines.number(float(term.item()))}" for name, term in named]
        return [
            f"{name:<20} root mean square {text_lines.number(float(np.sqrt((term**2).mean())) if term.size else 0.0)}"
            for name, term in named
        ]


def score_terms(
    content_query: Array, content_key: Array, position_query: Array, position_key: Array, *, scale: float | None = None
) -> ScoreTerms:
    """Split a score of content and position into its four terms, which sum to the score of their sums.

    Each argument is already projected: W_q·x, W_k·x', W_q·p and W_k·p'.

    Args:
        content_query: W_q·x, (*batch, n, d).
        content_key: W_k·x', (*batch, m, d).
        position_query: W_q·p, (*batch, n, d).
        position_key: W_k·p', (*batch, m, d).
        scale: Factor of the score; 1/√d by default.

    Returns:
        The four terms in float64.

    Raises:
        ValueError: An argument has another width, or `scale` is not positive.

    References:
        Dai et al. 2019, arXiv:1901.02860, §3.3.

    Example:
        >>> terms = score_terms([[1.0, 0.0]], [[1.0, 1.0]], [[0.0, 1.0]], [[2.0, 0.0]], scale=1.0)
        >>> [float(term.item()) for term in (terms.content_content, terms.content_position, terms.total)]
        [1.0, 2.0, 4.0]
    """
    queries, keys = ("content_query", "position_query"), ("content_key", "position_key")
    named = zip((*queries, *keys), (content_query, position_query, content_key, position_key), strict=True)
    terms = {name: np.asarray(arrays.numbers_on_host(name, value), np.float64) for name, value in named}
    width = terms["content_query"].shape[-1:]
    for name, array in terms.items():
        if array.ndim < 2 or array.shape[-1:] != width:
            raise ValueError(
                f"{name} must have shape (..., tokens, {width[0] if width else 'd'}), one width for all four; "
                f"got {array.shape}. Project all four with the same matrices."
            )
    scale = width[0] ** -0.5 if scale is None else validation.real("scale", scale, 0.0, 1e6, above=True)
    return ScoreTerms(*(terms[query] @ terms[key].swapaxes(-1, -2) * scale for query in queries for key in keys))
