"""Weights of a small model with its matrices in eight bits, and what that changes. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

#: Integers from -MOST to MOST, so that a matrix and its negative have the same codes but for the sign.
MOST = 127


class ByteMatrix(NamedTuple):
    """Matrix whose row r is scales[r] · integers[r].

    Args:
        integers: Shape (rows, columns), int8.
        scales: Shape (rows,), float32.
    """

    integers: np.ndarray
    scales: np.ndarray

    def values(self) -> np.ndarray:
        """Compute scales[r] · integers[r] for every row, each number rounded once.

        Returns:
            Shape (rows, columns), float32.
        """
        return np.asarray(self.integers.astype(np.float32) * self.scales[:, None])


def byte_matrix(matrix: np.ndarray) -> ByteMatrix:
    """Round each row to 255 evenly spaced numbers, its largest magnitude among them.

    Args:
        matrix: Shape (rows, columns), finite.

    Returns:
        The rounded matrix. No number of row r is farther from its own than half of `scales[r]`.

    Example:
        >>> byte_matrix(np.array([[1.0, -0.5], [0.0, 0.0]])).integers.tolist()
        [[127, -64], [0, 0]]
    """
    largest = np.abs(matrix).max(1).astype(np.float32)
    scales = np.where(largest > 0, largest / np.float32(MOST), np.float32(1.0))
    integers = np.clip(np.rint(matrix / scales[:, None]), -MOST, MOST).astype(np.int8)
    return ByteMatrix(integers, scales)


@dataclass(frozen=True, eq=False)
class EightBitModel:
    """Weights of a trained model, its matrices in eight bits, and the loss that it has with them.

    Args:
        matrices: By their names in the model.
        vectors: Scales and shifts of norms, by their names in the model; float32.
        params: Parameters of the encoding, as its module has them; float32.
        losses: Mean loss on the held-out text with these weights, by tokens of context.
    """

    matrices: Mapping[str, ByteMatrix]
    vectors: Mapping[str, np.ndarray]
    params: Mapping[str, np.ndarray]
    losses: Mapping[int, float]
