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
from posenc.inspect.encoding_facts import drawn_params, width_of
from posenc.learn.course.errata import Erratum, errata
from posenc.learn.worked_examples.steps import Position, Request, WorkedStep, WorkedSteps, position_text
from posenc.learn.worked_examples.worked_adds import worked_adds
from posenc.learn.worked_examples.worked_logits import score_width, worked_biases, worked_scores
from posenc.learn.worked_examples.worked_rotates import worked_rotates

#: How each door is worked out; an encoding is explained by the door it enters through.
DOORS: tuple[tuple[type[Any], Callable[[Any, Request], WorkedSteps]], ...] = (
    (AdditiveEncoding, worked_adds),
    (RotaryEncoding, worked_rotates),
    (AttentionBias, worked_biases),
    (AttentionScore, worked_scores),
)


@dataclass(frozen=True)
class Worked(text_lines.Lines):
    """A formula with the numbers of one position substituted.

    Attributes:
        encoding: The encoding.
        position: The position.
        formula: The formula.
        steps: A line with its values for each dimension, pair or head.
        notes: Remarks.
        errata: Numbers that sources print differently.
    """

    encoding: Encoding
    position: Position
    formula: str
    steps: tuple[WorkedStep, ...]
    notes: tuple[str, ...]
    errata: tuple[Erratum, ...]

    def lines(self) -> list[str]:
        """The formula, the steps, the remarks and the errata."""
        return [
            f"{text_lines.short(self.encoding)} at position {position_text(self.position)}",
            self.formula,
            *(f"  {step.text}" for step in self.steps),
            *self.notes,
            *(entry.line() for entry in self.errata),
        ]


def worked(
    encoding: Encoding,
    position: int | float | Sequence[int | float],
    *,
    dims: Sequence[int] | None = None,
    key: int | float | Sequence[int | float] | None = None,
    params: Params | None = None,
    vector: Array | None = None,
    seed: int = 0,
) -> Worked:
    """Work out the formula of an encoding, one line a dimension (adds), a pair (rotates) or a head (biases, scores).

    Args:
        encoding: An encoding of any door.
        position: Position of the token, or of the query where there is a key; a number, or one for each axis.
        dims: Dimensions, or heads at the doors that act on logits; all if left out.
        key: Position of the key, 0 if left out; a number, or one for each axis.
        params: Learned parameters; drawn from `seed` if left out.
        vector: Vector that is rotated, or query and key of a score, (head_dim,).
        seed: Seed of the parameters, and of query and key.

    Returns:
        The formula, its steps and remarks.

    Raises:
        TypeError: `encoding` is no encoding, or reads no `vector`.
        ValueError: An argument breaks its rule; the message names it.

    Example:
        >>> from posenc import Sinusoidal
        >>> print(worked(Sinusoidal(dim=4), 3, dims=[2]).steps[0].text)
        PE(3, 2) = sin(3 / 10000^(2/4)) = sin(0.03) = 0.029996
    """
    validation.instance("encoding", encoding, Encoding, "an encoding")
    explain = next((explained for door, explained in DOORS if isinstance(encoding, door)), None)
    if explain is None:
        raise TypeError(
            f"encoding must enter through one of the four doors; got {validation.shown(encoding)}. Derive it from one."
        )
    seed = validation.integer("seed", seed, 0, (1 << 63) - 1)
    request = Request(
        _position("position", position, encoding.axes),
        _position("key", (0 if encoding.axes == 1 else (0,) * encoding.axes) if key is None else key, encoding.axes),
        None if dims is None else tuple(validation.integers("dims", dims, 0, width_of(encoding) - 1)),
        encoding.checked(drawn_params(encoding, params, seed)),
        None if vector is None else _vector(vector, encoding),
        seed,
        drawn=params is None and bool(encoding.shapes),
    )
    found = explain(encoding, request)
    corrections = _errata_of(encoding, request)
    return Worked(encoding, request.position, found.formula, found.steps, found.notes, corrections)


def _errata_of(encoding: Encoding, request: Request) -> tuple[Erratum, ...]:
    corrections = errata(encoding, request.number) if encoding.axes == 1 else []
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


def _vector(vector: Array, encoding: Encoding) -> np.ndarray:
    if not isinstance(encoding, RotaryEncoding | AttentionScore):
        raise TypeError(
            f"vector must be left out for an encoding that {encoding.door}; got {validation.shown(vector)}. "
            "It reads no vector."
        )
    array = np.asarray(arrays.numbers_on_host("vector", vector), np.float64)
    size = encoding.head_dim if isinstance(encoding, RotaryEncoding) else score_width(encoding)
    if array.shape != (size,):
        raise ValueError(
            f"vector must have shape ({size},); got {array.shape}. Give one number for each channel of a head."
        )
    return array
