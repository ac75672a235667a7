"""Tokens of multimodal prompts with their positions, whole, in chunks and beyond."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posenc.core import validation
from posenc.positions.sequences import LONGEST


@dataclass(frozen=True, eq=False)
class PlacedTokens:
    """Coordinates of prompts and what follows them; unpacks into coordinates and rope deltas.

    Attributes:
        coordinates: (batch, n, axes), (n, axes), or without the last axis where there is one.
        delta: Rope deltas, (batch,), (documents,) or (): the position of the next token less the count of tokens.
        following: Position of the next token, one beyond the largest, in the shape of `delta`.
        axes: Number of coordinates of a token.
        names: Name of each coordinate; None for the usual names of so many, as `show` has them.

    Example:
        >>> placed = PlacedTokens(np.array([[0, 0, 0], [1, 1, 1]]), np.array(3), np.array(5), 3)
        >>> coordinates, delta = placed
        >>> placed.following.tolist(), placed.chunk(1, 4).tolist()
        (5, [[1, 1, 1], [5, 5, 5], [6, 6, 6]])
    """

    coordinates: np.ndarray
    delta: np.ndarray
    following: np.ndarray
    axes: int
    names: tuple[str, ...] | None = None

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.coordinates, self.delta))

    def chunk(self, start: int, stop: int) -> np.ndarray:
        """Coordinates of columns start to stop - 1, of the prompt or generated behind it, as chunked prefill needs.

        They are a slice of the whole prompt's: a chunk that begins inside an image cannot be placed by itself.

        Args:
            start: First column, from 0, padding included.
            stop: Column behind the last.

        Returns:
            (batch, stop - start, axes), or as `coordinates` has it.

        Raises:
            TypeError: A column is no whole number.
            ValueError: A column is out of range, or the prompt holds packed documents and the chunk goes beyond it.
        """
        start = validation.integer("start", start, 0, LONGEST)
        stop = validation.integer("stop", stop, start, LONGEST)
        batched = self.coordinates.ndim > (1 if self.axes == 1 else 2)
        columns = self.coordinates.shape[1 if batched else 0]
        inside = self.coordinates[:, start:stop] if batched else self.coordinates[start:stop]
        if stop <= columns:
            return inside
        if self.delta.ndim and not batched:
            raise ValueError(
                f"stop must be at most {columns}, the tokens of packed documents, behind which nothing is generated; "
                f"got {stop}. Unpack them."
            )
        steps = np.arange(max(start - columns, 0), stop - columns)
        text = self.following[..., None] + steps
        if self.axes > 1:
            text = np.repeat(text[..., None], self.axes, -1)
        return np.concatenate([inside, text.astype(self.coordinates.dtype)], 1 if batched else 0)
