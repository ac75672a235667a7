"""What a worked example is made of: the question, and a formula with its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posenc.frequencies import Chosen, Divisors, Geometric, Joined, Rescaled
from posenc.inspect import _text
from posenc.phase import Frequencies

#: A position: one number, or a coordinate for each axis.
Place = int | float | tuple[int | float, ...]


@dataclass(frozen=True)
class Step:
    """One line with the numbers substituted, and the value or values that it ends in."""

    text: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Steps:
    """The formula of a record, a step for each dimension, pair or head, and remarks."""

    formula: str
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Request:
    """What is to be worked out: the position, which dimensions (or heads), and for pairs of places the key's position."""

    position: Place
    key: Place
    dims: tuple[int, ...] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    vector: np.ndarray | None = None
    seed: int = 0
    drawn: bool = False

    @property
    def place(self) -> str:
        """The position as text."""
        return written(self.position)

    @property
    def there(self) -> str:
        """The key's position as text."""
        return written(self.key)

    @property
    def one(self) -> int | float:
        """The position, of a record with one axis."""
        return _one(self.position)

    @property
    def one_key(self) -> int | float:
        """The key's position, of a record with one axis."""
        return _one(self.key)

    def coordinate(self, axis: int) -> int | float:
        """The number of the position along an axis."""
        return self.position[axis] if isinstance(self.position, tuple) else self.position

    @property
    def at(self) -> np.ndarray:
        """The position as an array of one."""
        return np.array([self.position])

    def chosen(self, count: int) -> Sequence[int]:
        """The dimensions asked for, of so many."""
        return range(count) if self.dims is None else self.dims

    def learned(self, record: Any) -> Mapping[str, Any] | None:
        """The parameters as a method takes them: none where nothing is learned."""
        return self.params if record.shapes else None

    def notes(self) -> tuple[str, ...]:
        return (f"What is learned is drawn with seed {self.seed}.",) if self.drawn else ()


def written(place: Place) -> str:
    """A position as text: 3, or (3, 5)."""
    return f"({', '.join(map(_text.number, place))})" if isinstance(place, tuple) else _text.number(place)


def _one(place: Place) -> int | float:
    if isinstance(place, tuple):
        raise TypeError(f"position must be one number here; got {written(place)}. Give a record with one axis.")
    return place


def angle(place: str, frequencies: Frequencies, pair: int) -> str:
    """position · ω as text: "3 / 10000^(2/4)", "3 / 2", "3 · 0.25" or, scaled, "3 · 0.25 (unscaled 1)"."""
    if isinstance(frequencies, Geometric):
        top, bottom = frequencies.exponents()[pair]
        return f"{place} / {_text.number(frequencies.base)}^({top}/{bottom})"
    if isinstance(frequencies, Joined):
        for part in frequencies.parts:
            if pair < part.pairs:
                return angle(place, part, pair)
            pair -= part.pairs
    if isinstance(frequencies, Chosen):
        return angle(place, frequencies.ladder, frequencies.rungs[pair])
    if isinstance(frequencies, Divisors):
        divisor = frequencies.divisors[pair]
        return place if divisor == 1.0 else f"{place} / {_text.number(divisor)}"
    written = f"{place} · {_text.number(frequencies.radians()[pair])}"
    if isinstance(frequencies, Rescaled):
        written += f" (unscaled {_text.number(frequencies.ladder.radians()[pair])})"
    return written
