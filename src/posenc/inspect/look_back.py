"""A head that looks exactly k tokens back: one linear map of the encoding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding
from posenc.inspect.shift_matrix import paired, shift_matrix

#: More positions than this make no readable map.
MOST = 4096


@dataclass(frozen=True, eq=False)
class LookBack(text_lines.Lines):
    """Scores P·M(-k)ᵀ·Pᵀ of every query with every key, and where each query looks.

    Attributes:
        encoding: The encoding.
        offset: How many tokens k the head looks back.
        scores: Scores in float64, (length, length).
        target: Key with the largest score of each query, (length,).
    """

    encoding: AdditiveEncoding
    offset: int
    scores: np.ndarray
    target: np.ndarray

    @property
    def hits(self) -> int:
        """How many queries from k on look k back."""
        return int((self.target[self._first :] == self._wanted).sum())

    @property
    def misses(self) -> int:
        """How many queries from k on look elsewhere."""
        return len(self._wanted) - self.hits

    @property
    def margin(self) -> float:
        """Smallest lead in score of the key k back over all others, over queries from k on; negative where it loses."""
        rows = self.scores[self._first :].copy()
        index = np.arange(len(rows))
        right = rows[index, self._wanted]
        rows[index, self._wanted] = -np.inf
        return float((right - rows.max(1)).min())

    @property
    def _first(self) -> int:
        """First query that can look so far back."""
        return max(0, self.offset)

    @property
    def _wanted(self) -> np.ndarray:
        """Index of the key `offset` back, for each query from `_first` on."""
        return np.arange(self._first, len(self.target)) - self.offset

    def lines(self) -> list[str]:
        """Hits, margin, and the queries that cannot look so far back."""
        total = len(self._wanted)
        return [
            f"{text_lines.short(self.encoding)}: query M(-{self.offset})·PE(t), key PE(s), for t and s from 0 to "
            f"{len(self.target) - 1}",
            f"{self.hits} of {total} queries that can look {self.offset} back do; the right key wins by at least "
            f"{text_lines.number(self.margin, 4)}",
            f"The first {text_lines.count(self.offset, 'position')} cannot: nothing stands so far before them.",
        ]


def look_back(encoding: AdditiveEncoding, offset: int, length: int = 32) -> LookBack:
    """Score a head whose query weights hold M(-offset), so that it looks `offset` tokens back.

    M(-k)·PE(t) = PE(t-k), so query t scores highest with key t-k: scores = P·M(-k)ᵀ·Pᵀ.

    Args:
        encoding: An encoding made of sinusoids, a cosine for every sine.
        offset: Tokens to look back, from 0 to length - 1.
        length: How many positions there are, from 2 to 4096.

    Returns:
        The scores and where each query looks.

    Raises:
        TypeError: `encoding` is not made of sinusoids.
        ValueError: A sine lacks its cosine, or an argument breaks its rule; the message names it.

    References:
        Vaswani et al. 2017, arXiv:1706.03762, §3.5.

    Example:
        >>> from posenc import Sinusoidal
        >>> look_back(Sinusoidal(dim=64), 3, 8).target[3:].tolist()
        [0, 1, 2, 3, 4]
    """
    paired(encoding)
    length = validation.integer("length", length, 2, MOST)
    offset = validation.integer("offset", offset, 0, length - 1)
    rows = np.asarray(encoding.embed(np.arange(length)), dtype=np.float64)
    scores = rows @ shift_matrix(encoding, -offset).T @ rows.T
    return LookBack(encoding, offset, scores, scores.argmax(1))
