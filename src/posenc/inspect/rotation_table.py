"""A turn as one table: cosines and sines where the channels of their pairs are."""

from __future__ import annotations

import numpy as np

from posenc.core.rotation import Turn


def turn_table(turn: Turn) -> np.ndarray:
    """The cosine of each pair at the pair's first channel, the sine at its second; shape (n, dim).

    Channels that are not rotated are NaN. The turn is that of NumPy, the same for every head.

    >>> from posenc import RoPE
    >>> turn_table(RoPE(dim=4, pairing="halves").turn([0])).tolist()
    [[1.0, 1.0, 0.0, 0.0]]
    """
    table = np.full((*np.shape(turn.cos)[:-1], turn.dim), np.nan)
    first, second = pair_channels(turn)
    table[:, first], table[:, second] = turn.cos, turn.sin
    return table


def pair_channels(turn: Turn) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second channel of each pair."""
    first, second = turn.pairing.split(np.arange(turn.dim)[None])
    return np.asarray(first)[0], np.asarray(second)[0]
