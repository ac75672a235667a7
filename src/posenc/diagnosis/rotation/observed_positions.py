"""Evidence at positions: what all of it shows of them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from posenc.diagnosis.rotation.comparison import subsample
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence


class AtPositions(RotationEvidence):
    """Rows at positions (n,), of which the first look takes a few."""

    positions: np.ndarray

    @cached_property
    def _subsample(self) -> np.ndarray:
        return subsample(self.positions)

    def table_lengths(self) -> tuple[int, ...]:
        return powers_within(self.positions)

    def longest(self) -> int:
        return longest_with(self.positions)


def longest_with(positions: np.ndarray) -> int:
    """The length of a sequence with these positions."""
    return int(np.nanmax(positions, initial=0)) + 1


def shown_position(position: np.ndarray) -> str:
    """A position, or its coordinates."""
    return ", ".join(f"{coordinate:g}" for coordinate in np.atleast_1d(position))


def powers_within(positions: np.ndarray) -> tuple[int, ...]:
    """Powers of two within the positions, where tables of them end."""
    top = int(np.nanmax(positions, initial=0))
    return tuple(1 << power for power in range(3, 21) if 1 << power <= top)
