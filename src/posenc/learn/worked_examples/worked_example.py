"""The worked example: the formula of an encoding with the numbers of one position in it."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core import arrays, text_lines, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import LARGEST_POSITION
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, Params, RotaryEncoding
from posenc.learn.course.errata import Erratum, errata
from posenc.learn.worked_examples.steps import Position, Request, WorkedStep, WorkedSteps, position_text
from posenc.learn.worked_examples.worked_adds import worked_adds
from posenc.learn.worked_examples.worked_biases import worked_biases
from posenc.learn.worked_examples.worked_rotates import worked_rotates
from posenc.learn.worked_examples.worked_scores import score_width, worked_scores

#: How each door is worked out; a record is explained by the door it enters through.
DOORS: tuple[tuple[type[Any], Callable[[Any, Request], WorkedSteps]], ...] = (
    (AdditiveEncoding, worked_adds),
    (RotaryEncoding, worked_rotates),
    (AttentionBias, worked_biases),
    (AttentionScore, worked_scores),
)


@dataclass(frozen=True)
class Worked(text_lines.Lines):
    """A formula, its steps with the numbers substituted, remarks, and what sources print differently."""

    record: Encoding
    position: Position
    formula: str
    steps: tuple[WorkedStep, ...]
    notes: tuple[str, ...]
    errata: tuple[Erratum, ...]

    def lines(self) -> list[str]:
        return [
            f"{text_lines.short(self.record)} at position {position_text(self.position)}",
            self.formula,
            *(f"  {step.text}" for step in self.steps),
            *self.notes,
            *(entry.line() for entry in self.errata),
        ]


def worked(
    record: Encoding,
    position: int | float | Sequence[int | float],
    *,
    dims: Sequence[int] | None = None,
    key: int | float | Sequence[int | float] | None = None,
    params: Params | None = None,
    vector: Array | None = None,
    seed: int = 0,
) -> Worked:
    """The formula with numbers substituted, one line a dimension (adds), a pair (rotates) or a head (biases, scores).

    position: of the token, or of the query where there is a key; key: the key's position, 0 if left out. Each is a
    number, or one for each axis where the record has several.
    dims: which dimensions, or which heads at the doors that act on logits; all if left out.
    params: what is learned, drawn from `seed` if left out.   vector: what is rotated, or the query and key of a score.
    Raises ValueError or TypeError naming the argument.

    >>> from posenc import Sinusoidal
    >>> print(worked(Sinusoidal(dim=4), 3, dims=[2]).steps[0].text)
    PE(3, 2) = sin(3 / 10000^(2/4)) = sin(0.03) = 0.029996
    """
    validation.instance("record", record, Encoding, "a record of an encoding")
    explain = next((corrections for door, corrections in DOORS if isinstance(record, door)), None)
    if explain is None:
        raise TypeError(
            f"record must enter through one of the four doors; got {validation.shown(record)}. Derive it from one."
        )
    seed = validation.integer("seed", seed, 0, (1 << 63) - 1)
    drawn = params is None and bool(record.shapes)
    if drawn:
        params = record.init(np.random.default_rng(seed))
    request = Request(
        _position("position", position, record.axes),
        _position("key", (0 if record.axes == 1 else (0,) * record.axes) if key is None else key, record.axes),
        None if dims is None else _dims(dims, _count_of_dims(record)),
        record.checked(params),
        None if vector is None else _vector(vector, record),
        seed,
        drawn,
    )
    explanation = explain(record, request)
    return Worked(
        record, request.position, explanation.formula, explanation.steps, explanation.notes, _errata_of(record, request)
    )


def _errata_of(record: Encoding, request: Request) -> tuple[Erratum, ...]:
    corrections = errata(record, request.number) if record.axes == 1 else []
    return tuple(entry for entry in corrections if request.dims is None or entry.dimension in request.dims)


def _position(name: str, value: Any, axes: int) -> Position:
    if axes == 1:
        return _number(name, value)
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) or len(value) != axes:
        raise ValueError(
            f"{name} must be {axes} numbers, one for each axis; got {validation.shown(value)}. "
            f"Give {tuple(range(3, 3 + axes))}, for example."
        )
    return tuple(_number(name, one) for one in value)


def _number(name: str, value: Any) -> int | float:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return validation.integer(name, value, -LARGEST_POSITION, LARGEST_POSITION)
    return validation.real(name, value, -LARGEST_POSITION, LARGEST_POSITION)


def _count_of_dims(record: Encoding) -> int:
    """How many dimensions or heads there are to choose from."""
    if isinstance(record, AdditiveEncoding):
        return record.width
    if isinstance(record, RotaryEncoding):
        return record.head_dim
    return int(getattr(record, "heads", 1))


def _dims(dims: Sequence[int], count: int) -> tuple[int, ...]:
    if isinstance(dims, str) or not isinstance(dims, Sequence | np.ndarray):
        raise TypeError(f"dims must be a list of whole numbers; got {validation.shown(dims)}. Give [0, 1], say.")
    return tuple(validation.integer("dims", one, 0, count - 1) for one in dims)


def _vector(vector: Array, record: Encoding) -> np.ndarray:
    if not isinstance(record, RotaryEncoding | AttentionScore):
        raise TypeError(
            f"vector must be left out for a record that {record.door}; got {validation.shown(vector)}. It reads no vector."
        )
    array = np.asarray(arrays.to_numpy(arrays.as_array("vector", vector)), np.float64)
    size = record.head_dim if isinstance(record, RotaryEncoding) else score_width(record)
    if array.shape != (size,):
        raise ValueError(
            f"vector must have shape ({size},); got {array.shape}. Give one number for each channel of a head."
        )
    return array
