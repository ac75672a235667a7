"""Evidence that holds no vectors: the frequencies of running code, or its cosines and sines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from posenc.diagnosis.rotation.applied_rotation import Role, pairs_adjacent, rotated_pairs, used_cos_sin, used_positions
from posenc.diagnosis.rotation.comparison import FLOAT32_FREQUENCY, ROUGH, Comparison, comparison_of
from posenc.diagnosis.rotation.observed_rotations import ObservedRotations, rotations_of
from posenc.diagnosis.rotation.rotation_evidence import AtPositions, RotationEvidence, shown_position
from posenc.diagnosis.rotation.rotation_usage import RotationUsage, frequency_unit
from posenc.inspect.rounding import NARROW_TYPES, narrowed

#: cos and sin are rounded once; a vector is the sum of two products of rounded numbers.
OF_TABLE = 0.5


@dataclass(frozen=True, eq=False)
class ObservedFrequencies(RotationEvidence):
    """The frequencies of a live module or a checkpoint, (pairs,), and its attention factor where it has one."""

    values: np.ndarray
    attention: float | None = None

    def kinds(self) -> tuple[str, ...]:
        return ("inv_freq" if self.attention is None else "inv_freq and its attention factor",)

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        if usage.sine_for_cosine or usage.other_layout or usage.query.rotations != 1.0:
            return None
        pairs = rotated_pairs(usage, "query", exact)
        expected, rounding = pairs.frequencies[0], pairs.angle_rounding[0]
        if expected.shape != self.values.shape:  # of several axes, modules hold the frequencies that all share
            of_axes = [expected[pairs.axis == axis] for axis in np.unique(pairs.axis)]
            if any(not np.array_equal(one, of_axes[0]) for one in of_axes):
                return None
            expected, rounding = of_axes[0], rounding[pairs.axis == pairs.axis.min()]
        if expected.shape != self.values.shape:
            return None
        expected, rounding = (each / frequency_unit(usage.rope) for each in (expected, rounding))
        gap = np.abs(expected - self.values)
        if self.attention is not None and abs(pairs.factor - self.attention) > 1e-5 * self.attention:
            gap = gap + abs(pairs.factor - self.attention)
        tolerance = np.maximum((FLOAT32_FREQUENCY if exact else ROUGH) * np.abs(expected), rounding)
        return Comparison(gap, tolerance, np.ones(gap.shape, bool))

    def describe(self, index: tuple[int, ...]) -> str:
        return f"pair {index[0]}, which rotates by {self.values[index]:.6g} a step"

    def numbers(self) -> dict[str, np.ndarray]:
        factor = {} if self.attention is None else {"attention_factor": np.array([self.attention])}
        return {"inv_freq": self.values, **factor}

    def width(self) -> str:
        return f"{len(self.values)} frequencies"

    def frequencies(self, usage: RotationUsage) -> np.ndarray:
        return self.values * frequency_unit(usage.rope)

    def unseen(self, usage: RotationUsage) -> tuple[str, ...]:
        return ("frequencies alone show neither how channels are paired nor positions; give q and q_rotated for these",)

    def rotary_dim(self) -> int:
        return 2 * len(self.values)

    def attention_factor(self) -> float | None:
        return self.attention


@dataclass(frozen=True, eq=False)
class ObservedTable(AtPositions):
    """Cosines and sines that running code gave.

    Args:
        cos: Cosines, (n, pairs).
        sin: Sines, (n, pairs).
        positions: (n,) or (n, axes).
        dtype: Name of the type that they came in.
        buffered: Frequencies that the module holds besides, which may not be those that it uses.
        layout: The pairing that the rows were laid out for; "" where every frequency stands there once. Rows for halves
            prove nothing, since some released code regroups channels before it rotates them.
    """

    cos: np.ndarray
    sin: np.ndarray
    positions: np.ndarray
    dtype: str
    buffered: ObservedFrequencies | None = None
    layout: str = ""

    def kinds(self) -> tuple[str, ...]:
        return ("cos and sin",) if np.any(self.positions) else ()

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        wrong_layout = self.layout == "adjacent" and not pairs_adjacent(usage.encoding)
        of_vectors = usage.other_layout or usage.crossed or bool(usage.head_order) or usage.tf32 in ("logits", "all")
        if of_vectors or usage.axis != "tokens" or wrong_layout:
            return None
        rows = slice(None) if exact else self._subsample
        cos, sin = (part[0] for part in used_cos_sin(usage, self.positions[rows], "query", exact))
        if cos.shape != self.cos[rows].shape:
            return None
        angle_rounding = rotated_pairs(usage, "query", exact).angle_rounding[0]
        gap = np.maximum(np.abs(cos - self.cos[rows]), np.abs(sin - self.sin[rows]))
        used = used_positions(usage, self.positions[rows], "query")
        rounded = self._rounded(cos, sin) if exact else None
        return comparison_of(gap, self._size, used, angle_rounding, self.dtype, of_values=OF_TABLE, rounded=rounded)

    def _rounded(self, cos: np.ndarray, sin: np.ndarray) -> np.ndarray | None:
        """How far rounding to a narrow type puts cosines and sines; None where they came in a wide one."""
        for dtype in NARROW_TYPES:
            if dtype == self.dtype:
                return np.asarray(np.maximum(*(np.abs(narrowed(part, dtype) - part) for part in (cos, sin))))
        return None

    def of_rows(self, rows: np.ndarray) -> Self:
        return replace(self, cos=self.cos[rows], sin=self.sin[rows], positions=self.positions[rows])

    def rotations(self, usage: RotationUsage, role: Role = "query") -> ObservedRotations | None:
        return self._rotations if rotated_pairs(usage, role).frequencies.shape[1] == self.cos.shape[1] else None

    @cached_property
    def _size(self) -> float:
        """Size of the largest cosine, 1 or more: read once, since each candidate of a search is compared."""
        return max(1.0, float(np.nanmax(np.abs(self.cos), initial=0.0)))

    @cached_property
    def _rotations(self) -> ObservedRotations:
        before, after = np.ones(self.cos.shape, complex), self.cos + 1j * self.sin
        return rotations_of(before, after, self.positions, self.dtype in NARROW_TYPES)

    @cached_property
    def _frequencies(self) -> np.ndarray | None:
        shown = self._rotations.frequencies()
        return None if shown is None else np.asarray(np.abs(shown))

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        if self._frequencies is None and self.buffered is not None:
            return self.buffered.frequencies(usage)
        return self._frequencies

    def describe(self, index: tuple[int, ...]) -> str:
        row, pair = index
        return f"position {shown_position(self.positions[row])}, pair {pair}"

    def numbers(self) -> dict[str, np.ndarray]:
        buffered = {} if self.buffered is None else self.buffered.numbers()
        return {**buffered, "cos": self.cos, "sin": self.sin, "positions": self.positions}

    def width(self) -> str:
        return f"cos and sin, {len(self.cos)} rows of {self.cos.shape[1]} pairs, {self.dtype}"

    def unseen(self, usage: RotationUsage) -> tuple[str, ...]:
        pairing = "cos and sin do not show how channels are paired; give q and q_rotated for that"
        return (*self.unused(usage), *([] if self.layout == "adjacent" else [pairing]))

    def unused(self, usage: RotationUsage) -> tuple[str, ...]:
        """Note on frequencies that are held and not used; () where there are none."""
        if self.buffered is None or self.buffered.fits(usage):
            return ()
        return ("the inv_freq that it holds are others than it uses: what it returns is right all the same",)

    def rotary_dim(self) -> int:
        return 2 * int(self.cos.shape[1])

    def attention_factor(self) -> float:
        return self._attention_factor

    @cached_property
    def _attention_factor(self) -> float:
        lengths = np.hypot(self.cos, self.sin)
        return float(np.mean(lengths) if self.dtype in NARROW_TYPES else np.median(lengths))
