"""A rotation as one table: cosines and sines where the channels of their pairs are."""

from __future__ import annotations

import numpy as np

from posenc.core.rotation import Rotation


def rotation_table(rotation: Rotation) -> np.ndarray:
    """The cosine of each pair at the pair's first channel, the sine at its second; shape (n, dim).

    Channels that are not rotated are NaN. The rotation is that of NumPy, the same for every head.

    Example:
        >>> from posenc import RoPE
        >>> rotation_table(RoPE(dim=4, pairing="halves").rotation([0])).tolist()
        [[1.0, 1.0, 0.0, 0.0]]
    """
    table = np.full((*np.shape(rotation.cos)[:-1], rotation.dim), np.nan)
    first, second = pair_channels(rotation)
    table[:, first], table[:, second] = rotation.cos, rotation.sin
    return table


def pair_channels(rotation: Rotation) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second channel of each pair."""
    first, second = rotation.pairing.split(np.arange(rotation.dim)[None])
    return np.asarray(first)[0], np.asarray(second)[0]
