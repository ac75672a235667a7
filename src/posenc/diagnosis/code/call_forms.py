"""The documented call forms, a function each: call code, and read numbers for positions off its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc.diagnosis.code.asked_positions import FEW, MOST, REACHES, asked_positions, takes_positions
from posenc.diagnosis.code.cosine_and_sine import rotations
from posenc.diagnosis.code.observed_values import ObservedValues, ProbedBias
from posenc.diagnosis.code.recipe import Door
from posenc.diagnosis.code.user_code import POSITIONS, Caller, CodeFailedError, Tensor, UnsupportedFormError
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.named_arrays import NamedArray

#: Batch and length where they must be equal to see that they are mixed up.
SQUARE = 24

_AXES = Finding("axes swapped", "The table is (width, length).", "Return (length, width): one row for each position.")
_BATCH = Finding(
    "batch and position mixed",
    "The length is taken from the batch axis: it works only where batch and length are equal.",
    "With batch first, x is (batch, length, width): take x.size(1), and give the table a leading axis of 1.",
)
_KEYS = Finding(
    "keys rotated otherwise",
    "Queries and keys at one position are rotated differently.",
    "Rotate both the same way: the score then depends on the difference of positions alone.",
)

#: Queries and keys that are asked for: beyond the distance of 128 at which T5's last bucket begins.
LENGTH = 160


@dataclass(frozen=True, eq=False)
class Probe:
    """The numbers that code gave, and what was noticed on the way.

    Args:
        observed: A table, rotations or biases.
        form: How the code was called, in words.
        notes: Harmless observations.
        findings: Mistakes that the calls showed.
        layout: Layout of vectors.
        tensors: Tensors that a torch module holds.
        moving_error: Error of a module that was moved to another device.
        caller: The way in which the code was called.
    """

    observed: ObservedValues | ProbedBias
    form: str = ""
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    layout: str | None = None
    tensors: tuple[Tensor, ...] = ()
    moving_error: str = ""
    caller: Caller | None = None


#: What ends one way to call code; the next may be right.
FAILURES = (UnsupportedFormError, CodeFailedError, ValueError)


def table_by_length(caller: Caller) -> Probe:
    """f(length, dim): a row, or a rotation matrix, for each position from 0."""

    def ask(length: int) -> Probe:
        table, dtype = caller(length=length)
        table = _without_ones(table)
        swapped = table.ndim == 2 and table.shape[1] == length and table.shape[0] != length
        probe = _probe(caller, np.arange(length), NamedArray(table.T if swapped else table, dtype))
        return replace(probe, findings=(_AXES,)) if swapped else probe

    return _as_far_as_possible(caller, ask, REACHES[1:] if REACHES[1] * caller.dim <= FEW else REACHES[2:])


def table_by_positions(caller: Caller) -> Probe:
    """f(positions, dim): a row, or a rotation matrix, for each of the positions."""

    def ask(reach: int) -> Probe:
        positions = asked_positions(caller, reach)

        def of_shape(shape: tuple[int, ...]) -> Probe:
            table, dtype = caller(positions=positions.reshape(shape))
            return _probe(caller, positions, NamedArray(_without_ones(table), dtype))

        return _first_that_works(of_shape, ((-1,), (-1, 1), (1, -1)))

    return _as_far_as_possible(caller, ask)


def row_by_position(caller: Caller) -> Probe:
    """f(position, dim): the row, or the rotation matrix, of one position."""

    def ask(reach: int) -> Probe:
        positions = asked_positions(caller, reach)
        return _probe(caller, positions, _stacked([caller(position=int(position)) for position in positions]))

    return _as_far_as_possible(caller, ask)


def number_by_channel(caller: Caller) -> Probe:
    """f(position, i, dim): one number of the table."""

    def ask(reach: int) -> Probe:
        positions, channels = asked_positions(caller, reach), range(caller.dim)
        answers = [caller(position=int(position), index=channel) for position in positions for channel in channels]
        if any(answer.values.size != 1 for answer in answers):
            raise UnsupportedFormError("it returned more than one number for a position and a channel")
        numbers, dtype = _stacked(answers)
        return _probe(caller, positions, NamedArray(numbers.reshape(len(positions), caller.dim), dtype))

    return _as_far_as_possible(caller, ask)


def of_vectors(caller: Caller) -> Probe:
    """f(x), f(x, positions) and their like: vectors in, vectors with their positions out."""
    unmoved: list[Probe] = []

    def ask(reach: int) -> Probe:
        first_error: Exception | None = None
        positions = asked_positions(caller, reach)
        for shape in _shapes(len(positions), caller.dim):
            try:
                probe = _of_shape(caller, positions, shape)
            except FAILURES as error:
                first_error = first_error or error
                continue
            if np.ptp(probe.observed.values, axis=0).max() > 0:
                return probe
            unmoved.append(probe)
        raise first_error or UnsupportedFormError("it gives every position the same values")

    try:
        probe = _as_far_as_possible(caller, ask)
    except FAILURES:
        square = _square(caller)
        if square is None and not unmoved:
            raise
        return square or unmoved[0]
    return (_square(caller) or probe) if probe.layout == "no batch" and probe.observed.door == "adds" else probe


#: How to call each form, by the roles of its arguments besides width and base.
FORMS: Mapping[frozenset[str], Callable[[Caller], Probe]] = {
    frozenset({"length"}): table_by_length,
    frozenset({"positions"}): table_by_positions,
    frozenset({"position"}): row_by_position,
    frozenset({"position", "index"}): number_by_channel,
}
#: The forms that may return cosines and sines.
FORMS_OF_COSINES = tuple(frozenset(roles) for roles in (["length"], ["positions"], ["x"], ["x", "positions"]))


def observe(caller: Caller) -> Probe:
    """Call code in the caller's form, and read a table, rotations or biases off what it returns."""
    roles = frozenset(caller.call.form) - {"dim", "base"}
    if roles in BIAS_FORMS and (caller.prepared.heads or roles != {"length"}):
        return Probe(BIAS_FORMS[roles](caller))
    try:
        return FORMS.get(roles, of_vectors)(caller)
    except FAILURES:
        if roles in FORMS_OF_COSINES:
            with suppress(*FAILURES):  # the first error says more
                return rotations_of_cosines(caller)
        raise


def observe_many(caller: Caller, numbers: int) -> Probe:
    """As `observe`, and give code all of the first positions; `numbers` come back for each."""
    return observe(replace(caller, asked=range(min(REACHES[2], MOST // numbers))))


def rotations_of_cosines(caller: Caller) -> Probe:
    """f(length), f(positions), f(x), f(x, positions): cosines and sines, or complex numbers, for rotations.

    x gives the type and the length alone.
    """

    def ask(reach: int) -> Probe:
        positions = asked_positions(caller, reach)
        count = len(positions)
        values: dict[str, Any] = {"x": np.zeros((1, count, caller.dim)), "length": count}

        def of_shape(shape: tuple[int, ...]) -> Probe:
            values["positions"] = positions.reshape(shape)
            results = caller.every_result(**{role: values[role] for role in caller.call.form if role in values})
            if len(results) != 2:
                raise UnsupportedFormError(f"it returned {len(results)} results where cosines and sines are two")
            rotated, note = rotations(results, count, caller.layout)
            probe = _probe(caller, positions, rotated)
            return replace(probe, notes=(*probe.notes, note))

        return _first_that_works(of_shape, ((-1,), (1, -1)))

    return _as_far_as_possible(caller, ask)


#: Sizes of x, its axis of positions, and what that layout is called.
Shape = tuple[tuple[int, ...], int, str]


def _shapes(count: int, dim: int) -> Iterator[Shape]:
    yield (3, count, dim), 1, "batch first"
    yield (count, 3, dim), 0, "sequence first"
    yield (count, dim), 0, "no batch"
    yield (2, 3, count, dim), 2, "bhtd"
    yield (2, count, 3, dim), 1, "bthd"


def _of_shape(caller: Caller, positions: np.ndarray, shape: Shape) -> Probe:
    """Probe code with x = 0 in this shape; where that stays zero, with unit vectors, which show its rotation."""
    sizes, axis, layout = shape
    count, dim = sizes[axis], sizes[-1]
    if "position" in caller.call.form:
        return _one_vector_at_a_time(caller, positions)

    def give(x: np.ndarray) -> list[NamedArray]:
        """The result for queries, and for keys where there are any: the row of each position, (n, dim)."""
        values: dict[str, Any] = {"x": x, "k": x, "positions": positions}
        results = caller.results(**{role: values[role] for role in caller.call.form if role in values})
        if results[0].values.shape != x.shape:
            raise UnsupportedFormError(f"it returned shape {results[0].values.shape} for vectors of shape {x.shape}")
        return [NamedArray(np.moveaxis(one, axis, -2).reshape(-1, count, dim)[0], dtype) for one, dtype in results]

    zero = give(np.zeros(sizes))[0]
    if np.abs(zero.values).max() > 0:
        return replace(_probe(caller, positions, zero), layout=layout)
    columns = [give(np.broadcast_to(unit, sizes).copy()) for unit in np.eye(dim)]
    queries, keys = (_stacked([column[side] for column in columns], -1) for side in (0, -1))
    x = np.random.default_rng(0).normal(size=dim)
    of_x = give(np.broadcast_to(x, sizes).copy())[0].values
    if not np.allclose(of_x, queries.values @ x, atol=1e-3 * (1 + np.abs(x).max())):
        raise UnsupportedFormError("what it does to a vector is not linear: neither an addition nor a rotation")
    findings = () if np.allclose(queries.values, keys.values, atol=1e-4) else (_KEYS,)
    return replace(_probe(caller, positions, queries), layout=layout, findings=findings)


def _one_vector_at_a_time(caller: Caller, positions: np.ndarray) -> Probe:
    """f(x, position): one vector at one position."""

    def give(x: np.ndarray) -> NamedArray:
        return _stacked([caller(x=x, position=int(position)) for position in positions])

    zero = give(np.zeros(caller.dim))
    if np.abs(zero.values).max() > 0:
        return _probe(caller, positions, zero)
    return _probe(caller, positions, _stacked([give(unit) for unit in np.eye(caller.dim)], -1))


def _square(caller: Caller) -> Probe | None:
    """Probe code with batch = length, which code that takes the batch axis for positions accepts; None if it fails."""
    if set(caller.call.form) != {"x"}:
        return None
    try:
        values, dtype = caller(x=np.zeros((SQUARE, SQUARE, caller.dim)))
    except FAILURES:
        return None
    if values.shape != (SQUARE, SQUARE, caller.dim) or not np.abs(values).max() > 0:
        return None
    row = values[0] if np.ptp(values, axis=1).max() > 0 else values[:, 0]
    return replace(_probe(caller, np.arange(SQUARE), NamedArray(row, dtype)), findings=(_BATCH,))


def _first_that_works(of_shape: Callable[[tuple[int, ...]], Probe], shapes: Sequence[tuple[int, ...]]) -> Probe:
    """Result for the first accepted shape of positions; raises the first informative error."""
    errors = []
    for shape in shapes:
        try:
            return of_shape(shape)
        except FAILURES as error:
            errors.append(error)
    raise next((error for error in errors if str(error)), errors[-1])


def _as_far_as_possible(caller: Caller, ask: Callable[[int], Probe], lengths: Sequence[int] = REACHES[2:]) -> Probe:
    """Ask for the farthest positions of `REACHES`, or of `lengths` where they are counted, that the code accepts.

    Then ask up to the first that it refuses.
    """
    refused: tuple[int, Exception] | None = None
    first_error: Exception | None = None
    for reach in (one for one in (REACHES if takes_positions(caller) else lengths) if one <= caller.asked[-1] + 1):
        try:
            probe = ask(reach)
        except FAILURES as error:
            first_error, refused = first_error or error, (reach, error)
            continue
        return probe if refused is None else _up_to_refusal(caller, ask, (reach, probe), refused)
    raise first_error or UnsupportedFormError("")


def _up_to_refusal(
    caller: Caller, ask: Callable[[int], Probe], taken: tuple[int, Probe], refused: tuple[int, Exception]
) -> Probe:
    """Halve what lies between positions that code takes and refuses; the farthest that it takes, with a note."""
    between = [position + 1 for position in POSITIONS if taken[0] <= position and position + 1 < refused[0]]
    while between:
        reach = between[len(between) // 2]
        try:
            taken = reach, ask(reach)
        except FAILURES as error:
            refused = reach, error
        between = [one for one in between if taken[0] < one < refused[0]]
    last, first = (int(asked_positions(caller, reach)[-1]) for reach in (taken[0], refused[0]))
    note = f"It takes positions up to {last:,}, and refuses {first:,}: {_reason(refused[1])}."
    return replace(taken[1], notes=(*taken[1].notes, note))


def _reason(error: Exception) -> str:
    if isinstance(error, UnsupportedFormError) and str(error):
        return str(error)
    return error.kind if isinstance(error, CodeFailedError) else type(error).__name__


def _without_ones(array: np.ndarray) -> np.ndarray:
    return array.reshape([size for size in array.shape if size != 1])


def _stacked(answers: list[NamedArray], axis: int = 0) -> NamedArray:
    return NamedArray(np.stack([np.squeeze(answer.values) for answer in answers], axis), answers[0].dtype)


def _probe(caller: Caller, positions: np.ndarray, answer: NamedArray) -> Probe:
    """Numbers at all of the positions, or at those in `POSITIONS` where there are too many numbers to compare.

    Raises an error for what is neither a table nor rotations.
    """
    values, dtype = answer
    if values.shape == (len(positions),) and "dim" not in caller.call.form:
        values = values[:, None]  # one channel, as the first ideas of the ladder have
    dim = caller.dim if "dim" in caller.call.form or values.ndim < 2 else values.shape[-1]
    if values.shape not in ((len(positions), dim), (len(positions), dim, dim)):
        raise UnsupportedFormError(f"it returned shape {values.shape} for {len(positions)} positions and width {dim}")
    kept = np.isin(positions, POSITIONS) if values.size > MOST else np.full(len(positions), True)
    length = 0 if takes_positions(caller) else len(positions)
    door: Door = "adds" if values.ndim == 2 else "rotates"
    return Probe(ObservedValues(door, positions[kept].astype(np.float64), values[kept], dtype, length))


def by_length(caller: Caller) -> ProbedBias:
    """f(length), f(heads, length), f(query_length, key_length): biases for every head."""
    sizes = dict.fromkeys(("length", "query_length", "key_length"), LENGTH)
    values, dtype = caller(**{role: size for role, size in sizes.items() if role in caller.call.form})
    return _probed(values, dtype, caller.heads)


def from_slopes(caller: Caller) -> ProbedBias:
    """f(heads): the slope of each head, as biases -slope·distance."""
    values, dtype = caller()
    values = values.reshape(-1)
    if len(values) != caller.heads:
        raise UnsupportedFormError(f"it returned {len(values)} numbers for {caller.heads} heads")
    position = np.arange(LENGTH)
    distance = np.abs(position - position[:, None])
    return ProbedBias(-values[:, None, None] * distance, dtype)


def added_to_scores(caller: Caller) -> ProbedBias:
    """f(scores): biases, read off scores that are zero."""
    values, dtype = caller(scores=np.zeros((1, caller.heads, LENGTH, LENGTH)))
    return _probed(values, dtype, caller.heads)


#: How to call each form, by the roles of its arguments besides width and base.
BIAS_FORMS: Mapping[frozenset[str], Callable[[Caller], ProbedBias]] = {
    frozenset({"length"}): by_length,
    frozenset({"heads", "length"}): by_length,
    frozenset({"query_length", "key_length"}): by_length,
    frozenset({"heads", "query_length", "key_length"}): by_length,
    frozenset({"heads"}): from_slopes,
    frozenset({"scores"}): added_to_scores,
}


def _probed(values: np.ndarray, dtype: str, heads: int) -> ProbedBias:
    """Biases (heads, n, n) from that shape, (heads, 1, n) or (n, n, heads), also with a batch axis of 1."""
    by_head = values[0] if values.ndim == 4 and len(values) == 1 else values
    if by_head.shape == (LENGTH, LENGTH, heads):
        by_head = np.moveaxis(by_head, -1, 0)
    if by_head.shape not in ((heads, LENGTH, LENGTH), (heads, 1, LENGTH)):
        raise UnsupportedFormError(f"it returned shape {values.shape} for {heads} heads and {LENGTH} positions")
    return ProbedBias(np.broadcast_to(by_head, (heads, LENGTH, LENGTH)).copy(), dtype)
