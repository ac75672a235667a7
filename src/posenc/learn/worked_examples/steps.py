"""The parts of a worked example: the request, a formula, and its lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from posenc.core import text_lines
from posenc.frequencies import Chosen, Divisors, Geometric, Joined, Rescaled
from posenc.phase import Frequencies

#: One number, or a coordinate for each axis.
Position = int | float | tuple[int | float, ...]


@dataclass(frozen=True)
class WorkedStep:
    """A line of a worked example with numbers substituted, and the resulting value or values."""

    text: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class WorkedSteps:
    """The formula of an encoding, a step for each dimension, pair or head, and remarks."""

    formula: str
    steps: tuple[WorkedStep, ...]
    notes: tuple[str, ...] = ()


class Formula(NamedTuple):
    """A formula as text, a function from index (dimension or head) to its right-hand side or "", and remarks."""

    text: str
    right: Callable[[int], str] = lambda index: ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Request:
    """A request for a worked example: positions of the token or query and of the key, and the dimensions or heads.

    Attributes:
        params: Learned parameters; `drawn` from the seed if they were left out.
        vector: Vector that is rotated or scored, if given.
    """

    position: Position
    key: Position
    dims: tuple[int, ...] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    vector: np.ndarray | None = None
    seed: int = 0
    drawn: bool = False

    @property
    def number(self) -> int | float:
        """The position, of an encoding with one axis."""
        return _on_one_axis(self.position)

    @property
    def key_number(self) -> int | float:
        """The key's position, of an encoding with one axis."""
        return _on_one_axis(self.key)

    @property
    def shown(self) -> str:
        """The position as text."""
        return position_text(self.position)

    @property
    def key_shown(self) -> str:
        """The key's position as text."""
        return position_text(self.key)

    @property
    def distance(self) -> str:
        """The distance of query and key as text."""
        return text_lines.number(abs(self.number - self.key_number))

    @property
    def positions(self) -> np.ndarray:
        """The position as an array of one."""
        return np.array([self.position])

    def coordinate(self, axis: int) -> int | float:
        """The number of the position along an axis."""
        return self.position[axis] if isinstance(self.position, tuple) else self.position

    def chosen(self, count: int) -> Sequence[int]:
        """Indices that were asked for in `dims`, or all `count` of them if none were."""
        return range(count) if self.dims is None else self.dims

    def params_of(self, encoding: Any) -> Mapping[str, Any] | None:
        """Learned parameters to pass to the encoding's methods; None if it learns nothing."""
        return self.params if encoding.shapes else None

    def notes(self) -> tuple[str, ...]:
        """Remark on the seed, where parameters were drawn."""
        return (f"What is learned is drawn with seed {self.seed}.",) if self.drawn else ()

    def steps(self, formula: Formula, values: np.ndarray, left: Callable[[int], str]) -> WorkedSteps:
        """Build a line "left = right = value" for every dimension or head that was asked for."""
        steps = []
        for index in self.chosen(len(values)):
            right, value = formula.right(index), text_lines.number(values[index])
            sides = [left(index), *([right] if right not in ("", value) else []), value]
            steps.append(WorkedStep(" = ".join(sides), (float(values[index]),)))
        return WorkedSteps(formula.text, tuple(steps), (*formula.notes, *self.notes()))


def position_text(position: Position) -> str:
    """A position as text: 3, or (3, 5)."""
    if isinstance(position, tuple):
        return f"({', '.join(map(text_lines.number, position))})"
    return text_lines.number(position)


def _on_one_axis(position: Position) -> int | float:
    if isinstance(position, tuple):
        raise TypeError(f"position must be one number; got {position_text(position)}. Give an encoding with one axis.")
    return position


def factor_text(factor: float | None) -> str:
    """Format a factor as a prefix such as "0.5 · "; "" for None or 1."""
    return "" if factor is None or factor == 1.0 else f"{text_lines.number(factor)} · "


def angle_text(position: str, frequencies: Frequencies, pair: int) -> str:
    """Text of position · ω: "3 / 10000^(2/4)", "3 / 2", "3 · 0.25" or, scaled, "3 · 0.25 (unscaled 1)"."""
    if isinstance(frequencies, Geometric):
        top, bottom = frequencies.exponents()[pair]
        return f"{position} / {text_lines.number(frequencies.base)}^({top}/{bottom})"
    if isinstance(frequencies, Joined):
        for part in frequencies.parts:
            if pair < part.pairs:
                return angle_text(position, part, pair)
            pair -= part.pairs
    if isinstance(frequencies, Chosen):
        return angle_text(position, frequencies.frequencies, frequencies.indices[pair])
    if isinstance(frequencies, Divisors):
        divisor = frequencies.divisors[pair]
        return position if divisor == 1.0 else f"{position} / {text_lines.number(divisor)}"
    unscaled = ""
    if isinstance(frequencies, Rescaled):
        unscaled = f" (unscaled {text_lines.number(frequencies.unscaled.radians()[pair])})"
    return f"{position} · {text_lines.number(frequencies.radians()[pair])}{unscaled}"
