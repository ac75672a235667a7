"""What was seen of a rotation: frequencies, tables of cos and sin, turned vectors or logits, and whether a use explains it."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from posenc.diagnosis.rotation.usage import Use, adjacent, pairs, places, turned, waves

#: What a value's rounding may change, by the type it came in, of the size of what it was computed from.
ROUNDING = {"float64": 1e-6, "float32": 2e-6, "float16": 2.0**-9, "bfloat16": 2.0**-6}
#: Radians a step and unit of frequency by which a float32 angle may be off: frequency, product and wave, a rounding each.
ANGLE = 4 * 2.0**-24
#: The same for frequencies that were only estimated in float32.
ROUGH = 2e-6
#: How far a frequency that was computed in float32 may be off, of itself; one that was cast is off by far more.
HELD = 4e-6
#: Where rounding alone may change an angle by more than this, a value says nothing and is left out.
TELLING = 0.05
#: Rows that a first look takes.
GLIMPSE = 6


class Evidence(abc.ABC):
    """Numbers that a use of a rotation must give; `fits` compares all of them, or a few roughly where `exact` is False."""

    @abc.abstractmethod
    def fits(self, use: Use, exact: bool = True) -> bool:
        """Whether the use explains the numbers."""

    def rates(self) -> np.ndarray | None:
        """The frequencies, as the numbers show them; None where they do not."""
        return None

    def rates_of(self, use: Use) -> np.ndarray | None:
        """The same, if a use's channels are those that turn together."""
        return self.rates()

    @property
    def width(self) -> int | None:
        """How many channels turn, where that can be seen."""
        return None

    def factor(self) -> float | None:
        """The attention factor, where that can be seen."""
        return None

    def lengths(self) -> tuple[int, ...]:
        """Lengths after which a table might end."""
        return ()


@dataclass(frozen=True, eq=False)
class FrequenciesSeen(Evidence):
    """The frequencies of a live module or a checkpoint, (pairs,), and its attention factor where it has one."""

    values: np.ndarray
    attention: float | None = None

    def fits(self, use: Use, exact: bool = True) -> bool:
        if use.swapped or use.mixed or use.query_turns != 1.0:
            return False
        made = pairs(use, "query", exact)
        rates = made.rate_first
        if rates.shape != self.values.shape:  # of several axes, modules hold the ladder that all share
            ladders = [rates[made.axis == axis] for axis in np.unique(made.axis)]
            if any(not np.array_equal(ladder, ladders[0]) for ladder in ladders):
                return False
            rates = ladders[0]
        if rates.shape != self.values.shape:
            return False
        slack = HELD if exact else ROUGH
        if self.attention is not None and abs(made.factor - self.attention) > 1e-5 * self.attention:
            return False
        return bool(np.all(np.abs(rates - self.values) <= slack * np.abs(rates)))

    def rates(self) -> np.ndarray:
        return self.values

    @property
    def width(self) -> int:
        return 2 * len(self.values)

    def factor(self) -> float | None:
        return self.attention


@dataclass(frozen=True, eq=False)
class TableSeen(Evidence):
    """cos and sin (n, pairs) at positions (n,). frequencies: what the module holds beside, which may not be what it uses.

    layout: the pairing that the rows were laid out for; "" where every frequency stands there once. Rows for halves prove
    nothing, since some released code regroups channels before it turns them.
    """

    cos: np.ndarray
    sin: np.ndarray
    positions: np.ndarray
    dtype: str
    frequencies: FrequenciesSeen | None = None
    layout: str = ""

    def fits(self, use: Use, exact: bool = True) -> bool:
        if use.mixed or use.axis or (self.layout == "adjacent" and not adjacent(use)):
            return False
        rows = slice(None) if exact else self._glimpse
        cosine, sine = waves(use, self.positions[rows], "query", exact)
        if cosine.shape != self.cos[rows].shape:
            return False
        rates = np.abs(pairs(use, "query", exact).rate_first)
        slack, telling = allowed(self.positions[rows], rates, self.dtype, exact)
        size = max(1.0, float(np.abs(self.cos).max(initial=0.0)))
        off = np.maximum(np.abs(cosine - self.cos[rows]), np.abs(sine - self.sin[rows]))
        return bool(np.all((off <= slack * size) | ~telling) and (telling.any() or not exact))

    @cached_property
    def _glimpse(self) -> np.ndarray:
        return few(self.positions)

    def rates(self) -> np.ndarray | None:
        step = _one_step(self.positions)
        if step is None:
            return None if self.frequencies is None else self.frequencies.rates()
        wave = self.cos + 1j * self.sin
        with np.errstate(all="ignore"):
            return np.asarray(np.abs(np.angle(wave[step[1]] / wave[step[0]])))

    @property
    def width(self) -> int:
        return 2 * int(self.cos.shape[1])

    def factor(self) -> float | None:
        return float(np.median(np.hypot(self.cos, self.sin)))

    def lengths(self) -> tuple[int, ...]:
        return likely_lengths(self.positions)


@dataclass(frozen=True, eq=False)
class TurnedSeen(Evidence):
    """Vectors x (n, dim) and what became of them, y (n, dim), of queries or of keys at positions (n,).

    heads, batches: the number of each row's head and of its batch, which code may take for its position.
    """

    role: str
    x: np.ndarray
    y: np.ndarray
    positions: np.ndarray
    heads: np.ndarray
    batches: np.ndarray
    dtype: str

    def fits(self, use: Use, exact: bool = True) -> bool:
        rows = slice(None) if exact else self._glimpse
        positions = {"heads": self.heads, "batch": self.batches}.get(use.axis, self.positions)[rows]
        made = pairs(use, self.role, exact)
        if made.dim != self.x.shape[1]:
            return False
        x, y = self.x[rows], self.y[rows]
        found = turned(use, x, positions, self.role, exact)
        rates = np.zeros(self.x.shape[1])
        rates[made.first], rates[made.second] = np.abs(made.rate_first), np.abs(made.rate_second)
        slack, telling = allowed(places(use, positions, self.role), rates, self.dtype, exact)
        sizes = np.zeros_like(x)
        sizes[:, made.first] = sizes[:, made.second] = np.hypot(x[:, made.first], x[:, made.second])
        size = np.maximum(np.maximum(sizes, np.abs(x)) * max(1.0, abs(made.factor)), 1e-6)
        return bool(np.all((np.abs(found - y) <= slack * size) | ~telling) and (telling.any() or not exact))

    @cached_property
    def _glimpse(self) -> np.ndarray:
        return few(self.positions)

    def lengths(self) -> tuple[int, ...]:
        return likely_lengths(self.positions)

    def rates_of(self, use: Use) -> np.ndarray | None:
        made = pairs(use, self.role)
        if made.dim != self.x.shape[1] or self.positions.ndim > 1:
            return None
        with np.errstate(all="ignore"):
            one, other = (part[:, made.first] + 1j * part[:, made.second] for part in (self.x, self.y))
            angles = other / one
            order = np.argsort(self.positions, kind="stable")
            for here, there in pairwise(order):
                if self.positions[there] - self.positions[here] == 1:
                    return np.asarray(np.abs(np.angle(angles[there] / angles[here])))
        return None


@dataclass(frozen=True, eq=False)
class LogitsSeen(Evidence):
    """Logits (n, m) of queries (n, dim) and keys (m, dim) at their positions, times `scale`; what is not finite is masked."""

    q: np.ndarray
    k: np.ndarray
    logits: np.ndarray
    query: np.ndarray
    key: np.ndarray
    scale: float
    dtype: str

    def fits(self, use: Use, exact: bool = True) -> bool:
        rows, columns = (slice(None), slice(None)) if exact else (self._rows, self._columns)
        if use.axis or {pairs(use, role, exact).dim for role in ("query", "key")} != {self.q.shape[1]}:
            return False
        q, k = self.q[rows], self.k[columns]
        left = turned(use, q, self.query[rows], "query", exact)
        right = turned(use, k, self.key[columns], "key", exact)
        found = left @ right.T * self.scale * use.logits
        seen = self.logits[rows][:, columns]
        size = np.linalg.norm(left, axis=1)[:, None] * np.linalg.norm(right, axis=1) * abs(self.scale * use.logits)
        rates = np.abs(pairs(use, "query", exact).rate_first)
        per_step = (ANGLE if exact else ROUGH) * float(rates.max(initial=0.0))
        apart = far(self.query[rows])[:, None] + far(self.key[columns])
        slack = ROUNDING[self.dtype] * 2 + per_step * apart
        telling = (slack <= TELLING) & np.isfinite(seen) & (seen > -1e30)
        return bool(np.all((np.abs(found - seen) <= slack * size) | ~telling) and (telling.any() or not exact))

    @cached_property
    def _rows(self) -> np.ndarray:
        return few(self.query)

    @cached_property
    def _columns(self) -> np.ndarray:
        return few(self.key)

    def lengths(self) -> tuple[int, ...]:
        return likely_lengths(np.concatenate([self.query, self.key]))


@dataclass(frozen=True, eq=False)
class Together(Evidence):
    """Several of these, all of one use."""

    parts: tuple[Evidence, ...]

    def fits(self, use: Use, exact: bool = True) -> bool:
        return all(part.fits(use, exact) for part in self.parts)

    def rates_of(self, use: Use) -> np.ndarray | None:
        return next((found for part in self.parts if (found := part.rates_of(use)) is not None), None)

    def lengths(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(length for part in self.parts for length in part.lengths()))


def allowed(positions: np.ndarray, rates: np.ndarray, dtype: str, exact: bool) -> tuple[np.ndarray, np.ndarray]:
    """How far values may be off by rounding, (n, rates), and which of them still say something."""
    angle = far(positions)[:, None] * rates * (ANGLE if exact else ROUGH)
    return ROUNDING[dtype] + angle, angle <= TELLING


def far(positions: np.ndarray) -> np.ndarray:
    """How far out each row is: positions (n,), or the largest of several coordinates (n, axes)."""
    size = np.abs(positions)
    return size if size.ndim == 1 else np.asarray(size.max(1))


def few(positions: np.ndarray) -> np.ndarray:
    """Rows for a first look: the first ones, and others farther and farther away."""
    order = np.argsort(far(positions) if positions.ndim > 1 else positions, kind="stable")
    count = len(order)
    chosen = {*range(min(3, count)), *(round(count ** (step / GLIMPSE)) - 1 for step in range(1, GLIMPSE + 1))}
    return order[sorted(place for place in chosen if 0 <= place < count)]


def likely_lengths(positions: np.ndarray) -> tuple[int, ...]:
    """Powers of two within the positions, and where a table of them would have its edge."""
    top = int(positions.max(initial=0))
    return tuple(1 << power for power in range(3, 21) if 1 << power <= top)


def _one_step(positions: np.ndarray) -> tuple[int, int] | None:
    """Two rows one position apart."""
    if positions.ndim > 1:
        return None
    order = np.argsort(positions, kind="stable")
    steps = np.flatnonzero(np.diff(positions[order]) == 1)
    return None if not steps.size else (int(order[steps[0]]), int(order[steps[0] + 1]))
