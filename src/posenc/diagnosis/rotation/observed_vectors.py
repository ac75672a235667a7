"""Queries or keys, and what running code made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Self

import numpy as np

from posenc.diagnosis.nearest_heads import nearest_heads
from posenc.diagnosis.rotation.applied_rotation import (
    Role,
    rotate_vectors,
    rotated_pairs,
    used_positions,
    written_channels,
)
from posenc.diagnosis.rotation.comparison import Comparison, comparison_of
from posenc.diagnosis.rotation.observed_rotations import ObservedRotations, rotations_of
from posenc.diagnosis.rotation.rotation_evidence import AtPositions, shown_position
from posenc.diagnosis.rotation.rotation_usage import RotationUsage
from posenc.inspect.rounding import NARROW_TYPES

#: Vectors that were rotated by several angles carry the rounding of positions so much further out, and keep their
#: length, of itself.
FURTHER_OUT = 1024
LENGTH = 4e-6
#: Rows that values are read off: more of one position tell nothing new.
MOST_READ_OFF = 4096


@dataclass(frozen=True, eq=False)
class ObservedVectors(AtPositions):
    """Queries or keys before and after their rotation.

    Args:
        role: "query" or "key".
        x: Vectors before, (n, dim).
        y: Vectors after, (n, dim).
        positions: (n,) or (n, axes).
        heads: Number of each row's head, which code may take for its position; (n,).
        batch: Number of each row's batch row, which code may take for its position; (n,).
        dtype: Name of the type that they came in.
        other: Vectors (n, dim) of the other role in the same rows, where there are as many.
    """

    role: Role
    x: np.ndarray
    y: np.ndarray
    positions: np.ndarray
    heads: np.ndarray
    batch: np.ndarray
    dtype: str
    other: np.ndarray | None = None

    def kinds(self) -> tuple[str, ...]:
        if not np.any(self.positions):  # nothing rotates position 0
            return ()
        return ("q and q_rotated" if self.role == "query" else "k and k_rotated",)

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        rows = slice(None) if exact else self._subsample
        pairs = rotated_pairs(usage, self.role, exact)
        if pairs.dim != self.x.shape[1] or (usage.crossed and self.other is None) or usage.tf32 in ("logits", "all"):
            return None
        x, y, positions = self._of_heads(usage)[rows], self.y[rows], self._counted(usage)[rows]
        expected = rotate_vectors(usage, x, positions, self.role, exact)
        if usage.crossed and self.other is not None:
            others = rotate_vectors(usage, self.other[rows], positions, self.role, exact)
            channels = pairs.second if self.role == "query" else pairs.first
            expected[:, channels] = others[:, channels]
        angle_rounding, sizes = np.zeros(pairs.dim), np.zeros_like(x)
        for channels, row in zip(written_channels(usage, pairs), (0, -1), strict=True):
            angle_rounding[channels] = pairs.angle_rounding[row]
            sizes[:, channels] = np.hypot(x[:, pairs.first], x[:, pairs.second])
        size = np.maximum(np.maximum(sizes, np.abs(x)) * max(1.0, abs(pairs.factor)), 1e-6)
        if usage.crossed and self.other is not None:
            size = np.maximum(size, np.linalg.norm(self.other[rows], axis=1)[:, None])
        gap = np.abs(expected - y)
        if usage.zeros:
            gap = np.where(self._unwritten[rows][:, None], 0.0, gap)
        used = used_positions(usage, positions, self.role)
        return comparison_of(gap, size, used, angle_rounding, self.dtype)

    def differs_by_angle_rounding(self, usage: RotationUsage) -> bool:
        """Whether pairs keep their length, and angles are off by at most float32 rounding 1024 positions further out.

        Keys that were rotated to and fro, by the difference of their positions, carry the rounding of both angles.
        """
        comparison = self.compare(usage)
        pairs = rotated_pairs(usage, self.role)
        if comparison is None or self.dtype in NARROW_TYPES or usage.other_layout:
            return False
        first, second = written_channels(usage, pairs)
        before = np.hypot(self.x[:, pairs.first], self.x[:, pairs.second]) * abs(pairs.factor)
        after = np.hypot(self.y[:, first], self.y[:, second])
        angle = np.zeros(pairs.dim)
        angle[first], angle[second] = (pairs.angle_rounding[row] * FURTHER_OUT for row in (0, -1))
        rounding = comparison.tolerance + angle * np.linalg.norm(self.x, axis=1)[:, None]
        return bool(np.all(np.abs(after - before) <= LENGTH * before + 1e-9) and np.all(comparison.gap <= rounding))

    def _of_heads(self, usage: RotationUsage) -> np.ndarray:
        """Vectors that the usage rotates, with heads reordered where it has an order of them."""
        if not usage.head_order or usage.head_order_of not in (None, self.role):
            return self.x
        by_head = self.x.reshape(int(self.batch.max()) + 1, len(usage.head_order), -1, self.x.shape[1])
        return by_head[:, list(usage.head_order)].reshape(self.x.shape)

    def head_order(self, usage: RotationUsage, role: Role | None = None) -> tuple[int, ...]:
        heads, batch = int(self.heads.max()) + 1, int(self.batch.max()) + 1
        length, rest = divmod(len(self.x), heads * batch)
        whole = rest == 0 and np.array_equal(self.heads, np.tile(np.repeat(np.arange(heads), length), batch))
        pairs = rotated_pairs(usage, self.role)
        if role is not None or heads == 1 or not whole or pairs.dim != self.x.shape[1]:
            return ()
        rows = slice(0, heads * length)
        expected, shown = (
            part.reshape(heads, length, -1)[:, : self.x.shape[1]].reshape(heads, -1)
            for part in (rotate_vectors(usage, self.x[rows], self.positions[rows], self.role), self.y[rows])
        )
        return nearest_heads(expected, shown)

    def _counted(self, usage: RotationUsage) -> np.ndarray:
        """Numbers that the usage takes for positions: positions, heads or batch rows, or a sum of these."""
        if usage.axis == "tokens":
            return self.positions
        numbers = self.heads if "heads" in usage.axis else self.batch
        if "tokens" not in usage.axis:
            return numbers
        return np.asarray(self.positions + (numbers if self.positions.ndim == 1 else numbers[:, None]))

    def of_rows(self, rows: np.ndarray) -> Self:
        names = ("x", "y", "positions", "heads", "batch")
        other = None if self.other is None else self.other[rows]
        return replace(self, other=other, **{name: getattr(self, name)[rows] for name in names})

    @cached_property
    def _unwritten(self) -> np.ndarray:
        """Mask (n,) of the rows that are zero after the rotation, and not before."""
        return np.asarray(~self.y.any(1) & self.x.any(1))

    def unwritten(self) -> str:
        if not self._unwritten.any() or self._unwritten.all():
            return ""
        rows = {"batch row": (self.batch, self._unwritten), "head": (self.heads, self._unwritten)}
        for name, (number, unwritten) in rows.items():
            zero = set(number[unwritten].tolist())
            if not zero & set(number[~unwritten].tolist()):
                return f"{name} {', '.join(str(one) for one in sorted(zero)[:8])}"
        return f"{int(self._unwritten.sum())} of {len(self.y)} rows"

    def rotations(self, usage: RotationUsage, role: Role = "query") -> ObservedRotations | None:
        pairs = rotated_pairs(usage, role)
        if role != self.role or pairs.dim != self.x.shape[1] or usage.other_layout:
            return None
        channels = (pairs.first, pairs.second, *written_channels(usage, pairs))
        return _rotations_of_channels(self, *(tuple(one.tolist()) for one in channels))

    @cached_property
    def _read_off(self) -> np.ndarray:
        """Indices (rows,) of rows to read values off: as many of every position, up to 4096 in all or one of each."""
        _, number = np.unique(self.positions, axis=0, return_inverse=True)
        number = number.reshape(-1)
        order = np.argsort(number, kind="stable")
        starts = np.searchsorted(number[order], np.arange(number.max() + 1))
        rank = np.arange(len(order)) - starts[number[order]]
        most = max(MOST_READ_OFF // len(starts), 1)
        return np.asarray(order[rank < most])

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        rotations = self.rotations(usage, self.role)
        shown = None if rotations is None else rotations.frequencies()
        return None if shown is None else np.asarray(np.abs(shown))

    def describe(self, index: tuple[int, ...]) -> str:
        row, channel = index
        where = f"{self.role} at position {shown_position(self.positions[row])}, head {self.heads[row]}"
        batch = f", batch row {self.batch[row]}" if self.batch.any() else ""
        return f"{where}, channel {channel}{batch}"

    def numbers(self) -> dict[str, np.ndarray]:
        letter = self.role[0]
        return {letter: self.x, f"{letter}_rotated": self.y, "positions": self.positions}

    def width(self) -> str:
        name = "queries" if self.role == "query" else "keys"
        return f"{name}, {len(self.x)} rows of {self.x.shape[1]} channels, {self.dtype}"

    def channels(self) -> int:
        return int(self.x.shape[1])

    def roles(self) -> tuple[Role, ...]:
        return (self.role,)

    def unchanged(self) -> bool:
        return bool(np.array_equal(self.x, self.y))


@lru_cache(maxsize=8)
def _rotations_of_channels(
    vectors: ObservedVectors,
    first: tuple[int, ...],
    second: tuple[int, ...],
    first_after: tuple[int, ...],
    second_after: tuple[int, ...],
) -> ObservedRotations:
    """Rotations of pairs read from channels `first` and `second`, written to `first_after` and `second_after`."""
    rows = vectors._read_off
    x, y = vectors.x[rows], vectors.y[rows]
    before = x[:, list(first)] + 1j * x[:, list(second)]
    after = y[:, list(first_after)] + 1j * y[:, list(second_after)]
    return rotations_of(before, after, vectors.positions[rows], vectors.dtype in NARROW_TYPES)
