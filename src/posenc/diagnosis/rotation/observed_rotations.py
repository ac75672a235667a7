"""Numbers that running code gave: its frequencies, its cos and sin, the vectors it rotated, or their logits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from posenc.diagnosis.rotation.comparison import (
    ANGLE,
    FLOAT32_FREQUENCY,
    NARROW,
    ROUGH,
    ROUNDING,
    SIGNIFICANT,
    Comparison,
    compared,
    farness,
    subsample,
)
from posenc.diagnosis.rotation.effect import (
    Role,
    cos_sin,
    pairs_adjacent,
    rotate_vectors,
    rotated_pairs,
    used_positions,
    written_channels,
)
from posenc.diagnosis.rotation.readings import Turns, turns_of
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence
from posenc.diagnosis.rotation.usage import RotationUsage

#: cos and sin are rounded once; a vector is the sum of two products of rounded numbers.
OF_TABLE = 0.5
#: Vectors that were rotated by several angles carry the rounding of positions so much further out, and keep their
#: length, of itself.
FURTHER_OUT = 1024
LENGTH = 4e-6
ROLES: tuple[Role, Role] = ("query", "key")


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

    def longest(self) -> int:
        return _longest(self.positions)


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

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        wrong_layout = self.layout == "adjacent" and not pairs_adjacent(usage.record)
        if usage.other_layout or usage.axis != "tokens" or usage.crossed or wrong_layout:
            return None
        rows = slice(None) if exact else self._subsample
        cos, sin = (part[0] for part in cos_sin(usage, self.positions[rows], "query", exact))
        if cos.shape != self.cos[rows].shape:
            return None
        frequencies = np.abs(rotated_pairs(usage, "query", exact).frequencies[0])
        gap = np.maximum(np.abs(cos - self.cos[rows]), np.abs(sin - self.sin[rows]))
        size = max(1.0, float(np.nanmax(np.abs(self.cos), initial=0.0)))
        used = used_positions(usage, self.positions[rows], "query")
        return compared(gap, size, used, frequencies, self.dtype, exact, of_values=OF_TABLE)

    def turns(self, usage: RotationUsage, role: Role = "query") -> Turns | None:
        return self._turns if rotated_pairs(usage, role).frequencies.shape[1] == self.cos.shape[1] else None

    @cached_property
    def _turns(self) -> Turns:
        return turns_of(
            np.ones(self.cos.shape, complex), self.cos + 1j * self.sin, self.positions, self.dtype in NARROW
        )

    @cached_property
    def _frequencies(self) -> np.ndarray | None:
        shown = self._turns.frequencies()
        if shown is None:
            return None if self.held is None else self.held.values
        return np.asarray(np.abs(shown))

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        return self._frequencies

    def describe(self, index: tuple[int, ...]) -> str:
        row, pair = index
        return f"position {_shown(self.positions[row])}, pair {pair}"

    def numbers(self) -> dict[str, np.ndarray]:
        held = {} if self.held is None else self.held.numbers()
        return {**held, "cos": self.cos, "sin": self.sin, "positions": self.positions}

    def width(self) -> str:
        return f"cos and sin, {len(self.cos)} rows of {self.cos.shape[1]} pairs, {self.dtype}"

    def rotary_dim(self) -> int:
        return 2 * int(self.cos.shape[1])

    def attention_factor(self) -> float:
        lengths = np.hypot(self.cos, self.sin)
        return float(np.mean(lengths) if self.dtype in NARROW else np.median(lengths))


@dataclass(frozen=True, eq=False)
class ObservedVectors(AtPositions):
    """Vectors x (n, dim) and what became of them, y (n, dim), of queries or of keys at positions (n,).

    heads, batch: the number of each row's head and of its batch, which code may take for its position.
    other: vectors (n, dim) of the other role in the same rows, where there are as many.
    """

    role: Role
    x: np.ndarray
    y: np.ndarray
    positions: np.ndarray
    heads: np.ndarray
    batch: np.ndarray
    dtype: str
    other: np.ndarray | None = None

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        rows = slice(None) if exact else self._subsample
        pairs = rotated_pairs(usage, self.role, exact)
        if pairs.dim != self.x.shape[1] or (usage.crossed and self.other is None):
            return None
        x, y, positions = self.x[rows], self.y[rows], self._counted(usage)[rows]
        expected = rotate_vectors(usage, x, positions, self.role, exact)
        if usage.crossed and self.other is not None:
            others = rotate_vectors(usage, self.other[rows], positions, self.role, exact)
            channels = pairs.second if self.role == "query" else pairs.first
            expected[:, channels] = others[:, channels]
        frequencies, sizes = np.zeros(pairs.dim), np.zeros_like(x)
        for channels, row in zip(written_channels(usage, pairs), (0, -1), strict=True):
            frequencies[channels] = np.abs(pairs.frequencies[row])
            sizes[:, channels] = np.hypot(x[:, pairs.first], x[:, pairs.second])
        size = np.maximum(np.maximum(sizes, np.abs(x)) * max(1.0, abs(pairs.factor)), 1e-6)
        if usage.crossed and self.other is not None:
            size = np.maximum(size, np.linalg.norm(self.other[rows], axis=1)[:, None])
        gap = np.abs(expected - y)
        if usage.zeros:
            gap = np.where(self._unwritten[rows][:, None], 0.0, gap)
        used = used_positions(usage, positions, self.role)
        return compared(gap, size, used, frequencies, self.dtype, exact)

    def differs_by_angle_rounding(self, usage: RotationUsage) -> bool:
        """Whether pairs keep their length, and angles are off by no more than float32 rounds them further out.

        Keys that were rotated to and fro, by the difference of their positions, carry the rounding of both angles.
        """
        comparison = self.compare(usage)
        pairs = rotated_pairs(usage, self.role)
        if comparison is None or self.dtype in NARROW or usage.other_layout:
            return False
        first, second = written_channels(usage, pairs)
        before = np.hypot(self.x[:, pairs.first], self.x[:, pairs.second]) * abs(pairs.factor)
        after = np.hypot(self.y[:, first], self.y[:, second])
        angle = np.zeros(pairs.dim)
        angle[first], angle[second] = (np.abs(pairs.frequencies[row]) * ANGLE * FURTHER_OUT for row in (0, -1))
        allowed = comparison.tolerance + angle * np.linalg.norm(self.x, axis=1)[:, None]
        return bool(np.all(np.abs(after - before) <= LENGTH * before + 1e-9) and np.all(comparison.gap <= allowed))

    def _counted(self, usage: RotationUsage) -> np.ndarray:
        """What is taken for the position of each row."""
        one_axis = self.positions.ndim == 1
        counted = {
            "tokens": self.positions,
            "heads": self.heads,
            "batch": self.batch,
            "tokens and heads": self.positions + (self.heads if one_axis else self.heads[:, None]),
            "tokens and batch": self.positions + (self.batch if one_axis else self.batch[:, None]),
        }
        return np.asarray(counted[usage.axis])

    @cached_property
    def _unwritten(self) -> np.ndarray:
        """Rows of zeros that came from other numbers, (n,)."""
        return np.asarray(~self.y.any(1) & self.x.any(1))

    def unwritten(self) -> str:
        if not self._unwritten.any() or self._unwritten.all():
            return ""
        rows = {
            "batch row": (self.batch, self._unwritten),
            "head": (self.heads, self._unwritten),
        }
        for name, (number, unwritten) in rows.items():
            zero = set(number[unwritten].tolist())
            if not zero & set(number[~unwritten].tolist()):
                return f"{name} {', '.join(str(one) for one in sorted(zero)[:8])}"
        return f"{int(self._unwritten.sum())} of {len(self.y)} rows"

    def turns(self, usage: RotationUsage, role: Role = "query") -> Turns | None:
        pairs = rotated_pairs(usage, role)
        if role != self.role or pairs.dim != self.x.shape[1] or usage.other_layout:
            return None
        first, second = written_channels(usage, pairs)
        before = self.x[:, pairs.first] + 1j * self.x[:, pairs.second]
        return turns_of(before, self.y[:, first] + 1j * self.y[:, second], self.positions, self.dtype in NARROW)

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        turns = self.turns(usage, self.role)
        shown = None if turns is None else turns.frequencies()
        return None if shown is None else np.asarray(np.abs(shown))

    def describe(self, index: tuple[int, ...]) -> str:
        row, channel = index
        where = f"{self.role} at position {_shown(self.positions[row])}, head {self.heads[row]}, channel {channel}"
        return f"{where}, batch row {self.batch[row]}" if self.batch.any() else where

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

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        if usage.axis != "tokens" or {rotated_pairs(usage, role, exact).dim for role in ROLES} != {self.q.shape[1]}:
            return None
        rows, columns = (slice(None), slice(None)) if exact else self._subsample
        query_positions, key_positions = self.query_positions[rows], self.key_positions[columns]
        logits, scale = self.logits[rows][:, columns], self.scale * usage.logit_factor
        product, size = self._product(usage, rows, columns, exact)
        fastest = float(np.abs(rotated_pairs(usage, "query", exact).frequencies[0]).max(initial=0.0))
        steps = farness(query_positions)[:, None] + farness(key_positions)
        tolerance = ROUNDING[self.dtype] * 2 + (ANGLE if exact else ROUGH) * fastest * steps
        significant = (tolerance <= SIGNIFICANT) & (logits > -1e30)
        return Comparison(np.abs(product * scale - logits), tolerance * size * abs(scale), significant)

    def _product(
        self, usage: RotationUsage, rows: slice | np.ndarray, columns: slice | np.ndarray, exact: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """q·k of rotated vectors, (n, m), and the product of their lengths."""
        q = rotate_vectors(usage, self.q[rows], self.query_positions[rows], "query", exact)
        k = rotate_vectors(usage, self.k[columns], self.key_positions[columns], "key", exact)
        return q @ k.T, np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(k, axis=1)

    def logit_factors(self, usage: RotationUsage) -> tuple[float, ...]:
        """What q·k·scale must be multiplied by to come nearest to the logits."""
        product, _ = self._product(usage, slice(None), slice(None), True)
        seen = np.isfinite(self.logits) & (self.logits > -1e30)
        size = float((product[seen] ** 2).sum()) * self.scale
        return (float((product[seen] * self.logits[seen]).sum()) / size,) if size else ()

    def describe(self, index: tuple[int, ...]) -> str:
        row, column = index
        return f"query at position {_shown(self.query_positions[row])}, key at {_shown(self.key_positions[column])}"

    def numbers(self) -> dict[str, np.ndarray]:
        places = {"query_positions": self.query_positions, "key_positions": self.key_positions}
        return {"q": self.q, "k": self.k, **places, "logits": np.where(np.isneginf(self.logits), 0.0, self.logits)}

    def width(self) -> str:
        return f"logits of {len(self.q)} queries and {len(self.k)} keys of {self.q.shape[1]} channels, {self.dtype}"

    def channels(self) -> int:
        return int(self.q.shape[1])

    def longest(self) -> int:
        return max(_longest(self.query_positions), _longest(self.key_positions))

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

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        wrong = next((part for part in self.parts if not part.fits(usage, exact)), self.parts[0])
        return wrong.compare(usage, exact)

    def turns(self, usage: RotationUsage, role: Role = "query") -> Turns | None:
        every = (part.turns(usage, role) for part in self.parts)
        return next((turns for turns in every if turns is not None), None)

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        every = (part.frequencies(usage) for part in self.parts)
        return next((shown for shown in every if shown is not None), None)

    def table_lengths(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(length for part in self.parts for length in part.table_lengths()))

    def logit_factors(self, usage: RotationUsage) -> tuple[float, ...]:
        return tuple(factor for part in self.parts for factor in part.logit_factors(usage))

    def attention_factor(self) -> float | None:
        return next((shown for part in self.parts if (shown := part.attention_factor()) is not None), None)

    def differs_by_angle_rounding(self, usage: RotationUsage) -> bool:
        return all(part.fits(usage) or part.differs_by_angle_rounding(usage) for part in self.parts)

    def describe_worst(self, usage: RotationUsage) -> list[str]:
        return [line for part in self.parts for line in part.describe_worst(usage)]

    def numbers(self) -> dict[str, np.ndarray]:
        return {name: values for part in self.parts for name, values in part.numbers().items()}

    def width(self) -> str:
        return "; ".join(part.width() for part in self.parts)

    def channels(self) -> int | None:
        return next((count for part in self.parts if (count := part.channels()) is not None), None)

    def longest(self) -> int | None:
        return max((most for part in self.parts if (most := part.longest()) is not None), default=None)

    def roles(self) -> tuple[Role, ...]:
        return tuple(role for part in self.parts for role in part.roles())

    def unwritten(self) -> str:
        return next((rows for part in self.parts if (rows := part.unwritten())), "")

    def unchanged(self) -> bool:
        return all(part.unchanged() for part in self.parts)


def _longest(positions: np.ndarray) -> int:
    """The length of a sequence with these positions."""
    return int(np.nanmax(positions, initial=0)) + 1


def _shown(position: np.ndarray) -> str:
    """A position, or its coordinates."""
    return ", ".join(f"{coordinate:g}" for coordinate in np.atleast_1d(position))


def _powers_within(positions: np.ndarray) -> tuple[int, ...]:
    """Powers of two within the positions, where tables of them end."""
    top = int(np.nanmax(positions, initial=0))
    return tuple(1 << power for power in range(3, 21) if 1 << power <= top)
