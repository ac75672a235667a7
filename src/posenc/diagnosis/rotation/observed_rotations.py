"""Numbers that running code gave: its frequencies, its cos and sin, the vectors it rotated, or their logits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from posenc.diagnosis.rotation.effect import (
    Role,
    cos_sin,
    pairs_adjacent,
    rotate_vectors,
    rotated_pairs,
    used_positions,
)
from posenc.diagnosis.rotation.rotation_evidence import ROUGH, RotationEvidence
from posenc.diagnosis.rotation.usage import RoleUsage, RotationUsage

#: What a value's rounding may change, by the type it came in, of the size of what it was computed from.
ROUNDING = {"float64": 1e-6, "float32": 2e-6, "float16": 2.0**-9, "bfloat16": 2.0**-6}
#: How far a float32 angle may be off, a step and unit of frequency: frequency, product and function round once each.
ANGLE = 4 * 2.0**-24
#: How far a frequency that was computed in float32 may be off, of itself; one that was cast is off by far more.
FLOAT32_FREQUENCY = 4e-6
#: Where rounding alone may change an angle by more than this, a value shows nothing and is left out.
SIGNIFICANT = 0.05
#: Rows of a subsample.
SUBSAMPLE = 6
#: Shifts of queries and keys together that are looked for before any mistake, since they are harmless.
SHIFTS = (*range(1, 65), 100, 128, 255, 256, 511, 512, 1000, 1023, 1024, 2048, 4096)
ROLES: tuple[Role, Role] = ("query", "key")


@dataclass(frozen=True, eq=False)
class ObservedFrequencies(RotationEvidence):
    """The frequencies of a live module or a checkpoint, (pairs,), and its attention factor where it has one."""

    values: np.ndarray
    attention: float | None = None

    def fits(self, usage: RotationUsage, exact: bool = True) -> bool:
        if usage.sine_for_cosine or usage.other_layout or usage.query.rotations != 1.0:
            return False
        pairs = rotated_pairs(usage, "query", exact)
        expected = pairs.frequencies[0]
        if expected.shape != self.values.shape:  # of several axes, modules hold the frequencies that all share
            of_axes = [expected[pairs.axis == axis] for axis in np.unique(pairs.axis)]
            if any(not np.array_equal(one, of_axes[0]) for one in of_axes):
                return False
            expected = of_axes[0]
        if expected.shape != self.values.shape:
            return False
        tolerance = FLOAT32_FREQUENCY if exact else ROUGH
        if self.attention is not None and abs(pairs.factor - self.attention) > 1e-5 * self.attention:
            return False
        return bool(np.all(np.abs(expected - self.values) <= tolerance * np.abs(expected)))

    def frequencies(self, usage: RotationUsage) -> np.ndarray:
        return self.values

    def rotary_dim(self) -> int:
        return 2 * len(self.values)

    def attention_factor(self) -> float | None:
        return self.attention


class AtPositions(RotationEvidence):
    """Rows at positions (n,), of which the first look takes a few."""

    positions: np.ndarray

    @cached_property
    def _subsample(self) -> np.ndarray:
        return subsample(self.positions)

    def table_lengths(self) -> tuple[int, ...]:
        return _powers_within(self.positions)


@dataclass(frozen=True, eq=False)
class ObservedTable(AtPositions):
    """cos and sin (n, pairs) at positions (n,). held: what the module holds beside, which may not be what it uses.

    layout: the pairing that the rows were laid out for; "" where every frequency stands there once. Rows for halves
    prove nothing, since some released code regroups channels before it rotates them.
    """

    cos: np.ndarray
    sin: np.ndarray
    positions: np.ndarray
    dtype: str
    held: ObservedFrequencies | None = None
    layout: str = ""

    def fits(self, usage: RotationUsage, exact: bool = True) -> bool:
        wrong_layout = self.layout == "adjacent" and not pairs_adjacent(usage.record)
        if usage.other_layout or usage.axis != "tokens" or wrong_layout:
            return False
        rows = slice(None) if exact else self._subsample
        cos, sin = (part[0] for part in cos_sin(usage, self.positions[rows], "query", exact))
        if cos.shape != self.cos[rows].shape:
            return False
        frequencies = np.abs(rotated_pairs(usage, "query", exact).frequencies[0])
        tolerance, significant = tolerances(self.positions[rows], frequencies, self.dtype, exact)
        size = max(1.0, float(np.abs(self.cos).max(initial=0.0)))
        gap = np.maximum(np.abs(cos - self.cos[rows]), np.abs(sin - self.sin[rows]))
        return all_within(gap, tolerance * size, significant, exact)

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        neighbours = _neighbours(self.positions)
        if neighbours is None:
            return None if self.held is None else self.held.values
        here, there = (self.cos[row] + 1j * self.sin[row] for row in neighbours)
        with np.errstate(all="ignore"):
            return np.asarray(np.abs(np.angle(there / here)))

    def rotary_dim(self) -> int:
        return 2 * int(self.cos.shape[1])

    def attention_factor(self) -> float:
        return float(np.median(np.hypot(self.cos, self.sin)))


@dataclass(frozen=True, eq=False)
class ObservedVectors(AtPositions):
    """Vectors x (n, dim) and what became of them, y (n, dim), of queries or of keys at positions (n,).

    heads, batch: the number of each row's head and of its batch, which code may take for its position.
    """

    role: Role
    x: np.ndarray
    y: np.ndarray
    positions: np.ndarray
    heads: np.ndarray
    batch: np.ndarray
    dtype: str

    def fits(self, usage: RotationUsage, exact: bool = True) -> bool:
        rows = slice(None) if exact else self._subsample
        positions = {"tokens": self.positions, "heads": self.heads, "batch": self.batch}[usage.axis][rows]
        pairs = rotated_pairs(usage, self.role, exact)
        if pairs.dim != self.x.shape[1]:
            return False
        x, y = self.x[rows], self.y[rows]
        expected = rotate_vectors(usage, x, positions, self.role, exact)
        frequencies, sizes = np.zeros(pairs.dim), np.zeros_like(x)
        for channels, row in ((pairs.first, 0), (pairs.second, -1)):
            frequencies[channels] = np.abs(pairs.frequencies[row])
            sizes[:, channels] = np.hypot(x[:, pairs.first], x[:, pairs.second])
        used = used_positions(usage, positions, self.role)
        tolerance, significant = tolerances(used, frequencies, self.dtype, exact)
        size = np.maximum(np.maximum(sizes, np.abs(x)) * max(1.0, abs(pairs.factor)), 1e-6)
        return all_within(np.abs(expected - y), tolerance * size, significant, exact)

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        pairs = rotated_pairs(usage, self.role)
        neighbours = _neighbours(self.positions)
        if pairs.dim != self.x.shape[1] or neighbours is None:
            return None
        with np.errstate(all="ignore"):
            before, after = (part[:, pairs.first] + 1j * part[:, pairs.second] for part in (self.x, self.y))
            here, there = ((after / before)[row] for row in neighbours)
            return np.asarray(np.abs(np.angle(there / here)))


@dataclass(frozen=True, eq=False)
class ObservedLogits(RotationEvidence):
    """Logits (n, m) of queries (n, dim) and keys (m, dim) at positions, times `scale`; masked where not finite."""

    q: np.ndarray
    k: np.ndarray
    logits: np.ndarray
    query_positions: np.ndarray
    key_positions: np.ndarray
    scale: float
    dtype: str

    def fits(self, usage: RotationUsage, exact: bool = True) -> bool:
        rows, columns = (slice(None), slice(None)) if exact else self._subsample
        if usage.axis != "tokens" or {rotated_pairs(usage, role, exact).dim for role in ROLES} != {self.q.shape[1]}:
            return False
        query_positions, key_positions = self.query_positions[rows], self.key_positions[columns]
        q = rotate_vectors(usage, self.q[rows], query_positions, "query", exact)
        k = rotate_vectors(usage, self.k[columns], key_positions, "key", exact)
        logits, scale = self.logits[rows][:, columns], self.scale * usage.logit_factor
        size = np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(k, axis=1) * abs(scale)
        fastest = float(np.abs(rotated_pairs(usage, "query", exact).frequencies[0]).max(initial=0.0))
        steps = farness(query_positions)[:, None] + farness(key_positions)
        tolerance = ROUNDING[self.dtype] * 2 + (ANGLE if exact else ROUGH) * fastest * steps
        significant = (tolerance <= SIGNIFICANT) & np.isfinite(logits) & (logits > -1e30)
        return all_within(np.abs(q @ k.T * scale - logits), tolerance * size, significant, exact)

    @cached_property
    def _subsample(self) -> tuple[np.ndarray, np.ndarray]:
        return subsample(self.query_positions), subsample(self.key_positions)

    def table_lengths(self) -> tuple[int, ...]:
        return _powers_within(np.concatenate([self.query_positions, self.key_positions]))


@dataclass(frozen=True, eq=False)
class Together(RotationEvidence):
    """Several of these, all of one usage."""

    parts: tuple[RotationEvidence, ...]

    def fits(self, usage: RotationUsage, exact: bool = True) -> bool:
        return all(part.fits(usage, exact) for part in self.parts)

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        every = (part.frequencies(usage) for part in self.parts)
        return next((shown for shown in every if shown is not None), None)

    def table_lengths(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(length for part in self.parts for length in part.table_lengths()))


def tolerances(
    positions: np.ndarray, frequencies: np.ndarray, dtype: str, exact: bool
) -> tuple[np.ndarray, np.ndarray]:
    """How far values may be off by rounding, (n, frequencies), and which of them still show something."""
    angle = farness(positions)[:, None] * frequencies * (ANGLE if exact else ROUGH)
    return ROUNDING[dtype] + angle, angle <= SIGNIFICANT


def all_within(gap: np.ndarray, tolerance: np.ndarray, significant: np.ndarray, exact: bool) -> bool:
    """Whether every significant gap is tolerable; of all numbers, some must be significant."""
    return bool(np.all((gap <= tolerance) | ~significant) and (significant.any() or not exact))


def farness(positions: np.ndarray) -> np.ndarray:
    """How far out each row is: positions (n,), or the largest of several coordinates (n, axes)."""
    size = np.abs(positions)
    return size if size.ndim == 1 else np.asarray(size.max(1))


def subsample(positions: np.ndarray) -> np.ndarray:
    """Rows for a first look: the first ones, and others farther and farther away."""
    order = np.argsort(farness(positions) if positions.ndim > 1 else positions, kind="stable")
    count = len(order)
    chosen = {*range(min(3, count)), *(round(count ** (step / SUBSAMPLE)) - 1 for step in range(1, SUBSAMPLE + 1))}
    return order[sorted(row for row in chosen if 0 <= row < count)]


def common_shift(evidence: RotationEvidence, usage: RotationUsage) -> int:
    """How far queries and keys are shifted together, if that alone explains the evidence; 0 if it does not."""
    shifts: list[int] = [sign * step for step in SHIFTS for sign in (1, -1)]
    for shift in shifts:
        shifted = replace(usage, query=RoleUsage(shift=shift), key=RoleUsage(shift=shift))
        if evidence.fits(shifted, False) and evidence.fits(shifted):
            return shift
    return 0


def _powers_within(positions: np.ndarray) -> tuple[int, ...]:
    """Powers of two within the positions, where tables of them end."""
    top = int(positions.max(initial=0))
    return tuple(1 << power for power in range(3, 21) if 1 << power <= top)


def _neighbours(positions: np.ndarray) -> tuple[int, int] | None:
    """Two rows one position apart."""
    if positions.ndim > 1:
        return None
    order = np.argsort(positions, kind="stable")
    steps = np.flatnonzero(np.diff(positions[order]) == 1)
    return None if not steps.size else (int(order[steps[0]]), int(order[steps[0] + 1]))
