"""Frequencies that running code or a checkpoint holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.diagnosis.rotation.comparison import FLOAT32_FREQUENCY, ROUGH, Comparison
from posenc.diagnosis.rotation.effect import rotated_pairs
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence
from posenc.diagnosis.rotation.usage import RotationUsage, frequency_unit


@dataclass(frozen=True, eq=False)
class ObservedFrequencies(RotationEvidence):
    """The frequencies of a live module or a checkpoint, (pairs,), and its attention factor where it has one."""

    values: np.ndarray
    attention: float | None = None

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        if usage.sine_for_cosine or usage.other_layout or usage.query.rotations != 1.0:
            return None
        pairs = rotated_pairs(usage, "query", exact)
        expected = pairs.frequencies[0]
        if expected.shape != self.values.shape:  # of several axes, modules hold the frequencies that all share
            of_axes = [expected[pairs.axis == axis] for axis in np.unique(pairs.axis)]
            if any(not np.array_equal(one, of_axes[0]) for one in of_axes):
                return None
            expected = of_axes[0]
        if expected.shape != self.values.shape:
            return None
        expected = expected / frequency_unit(usage.rope)
        gap = np.abs(expected - self.values)
        if self.attention is not None and abs(pairs.factor - self.attention) > 1e-5 * self.attention:
            gap = gap + abs(pairs.factor - self.attention)
        tolerance = (FLOAT32_FREQUENCY if exact else ROUGH) * np.abs(expected)
        return Comparison(gap, tolerance, np.ones(gap.shape, bool))

    def describe(self, index: tuple[int, ...]) -> str:
        return f"pair {index[0]}, which rotates by {self.values[index]:.6g} a step"

    def numbers(self) -> dict[str, np.ndarray]:
        return {"inv_freq": self.values}

    def width(self) -> str:
        return f"{len(self.values)} frequencies"

    def frequencies(self, usage: RotationUsage) -> np.ndarray:
        return self.values * frequency_unit(usage.rope)

    def rotary_dim(self) -> int:
        return 2 * len(self.values)

    def attention_factor(self) -> float | None:
        return self.attention
