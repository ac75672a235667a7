"""The documented forms, a function each: how to call, and how to read what comes back as numbers for positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from posenc.diagnosis.code.caller import PLACES, REACHES, Caller, Probe, UnfitError, dtype_of
from posenc.diagnosis.code.recipe import Door
from posenc.diagnosis.code.recipe_changes import Observed
from posenc.diagnosis.code.table_diagnosis import Finding

_AXES = Finding("axes swapped", "The table is (width, length).", "Return (length, width): one row for each position.")
_BATCH = Finding(
    "batch and position mixed",
    "The length is taken from the batch axis: it works only where batch and length are equal.",
    "With batch first, x is (batch, length, width): take x.size(1), and give the table a leading axis of 1.",
)
_KEYS = Finding(
    "keys turned otherwise",
    "Queries and keys at one position are turned differently.",
    "Turn both the same way: the score then depends on the difference of positions alone.",
)


def table(caller: Caller) -> Probe:
    """f(length, dim): a row, or a rotation matrix, for each position from 0."""

    def ask(length: int) -> Probe:
        values = caller(length=length)
        flat = values.reshape([size for size in values.shape if size != 1])
        if flat.ndim == 2 and flat.shape[1] == length and flat.shape[0] != length:
            return _found(caller, np.arange(length), flat.T, length=length, findings=(_AXES,))
        return _found(caller, np.arange(length), flat, length=length)

    return _reaching(ask, lengths=True)


def rows(caller: Caller) -> Probe:
    """f(positions, dim): a row, or a rotation matrix, for each of the positions."""

    def ask(reach: int) -> Probe:
        places = _places(reach)
        error: Exception = UnfitError("")
        for shape in ((-1,), (-1, 1), (1, -1)):
            try:
                values = caller(positions=places.reshape(shape))
                return _found(caller, places, values.reshape([size for size in values.shape if size != 1]))
            except Exception as failed:
                error = failed if not str(error) else error
        raise error

    return _reaching(ask)


def one_row(caller: Caller) -> Probe:
    """f(position, dim): the row, or the rotation matrix, of one position."""

    def ask(reach: int) -> Probe:
        places = _places(reach)
        values = np.stack([np.squeeze(caller(position=int(place))) for place in places])
        return _found(caller, places, values)

    return _reaching(ask)


def one_number(caller: Caller) -> Probe:
    """f(position, i, dim): one number of the table."""

    def ask(reach: int) -> Probe:
        places = _places(reach)
        values = [[caller(position=int(p), index=c) for c in range(caller.dim)] for p in places]
        if any(value.size != 1 for row in values for value in row):
            raise UnfitError("it returned more than one number for a position and a channel")
        return _found(caller, places, np.array(values, dtype=np.float64).reshape(len(places), caller.dim))

    return _reaching(ask)


def vectors(caller: Caller) -> Probe:
    """f(x), f(x, positions) and their like: vectors in, vectors with their positions out."""

    unmoved: list[Probe] = []

    def ask(reach: int) -> Probe:
        error: Exception | None = None
        for shape in _shapes(caller, reach):
            try:
                found = _through(caller, shape)
            except Exception as failed:
                error = error or failed
                continue
            if _moves(found):
                return found
            unmoved.append(found)
        raise error or UnfitError("it gives every position the same values")

    try:
        found = _reaching(ask, lengths=not _placed(caller))
    except Exception:
        square = _square(caller)
        if square is None and not unmoved:
            raise
        return square or unmoved[0]
    return (_square(caller) or found) if found.layout == "no batch" and found.observed.door == "adds" else found


Shape = tuple[tuple[int, ...], int, str]


def _shapes(caller: Caller, reach: int) -> Iterator[Shape]:
    """Shapes of x to try, each with its axis of positions and what that layout is called."""
    count, dim = len(_places(reach)) if _placed(caller) else min(reach, 3_000), caller.dim
    yield (3, count, dim), 1, "batch first"
    yield (count, 3, dim), 0, "sequence first"
    yield (count, dim), 0, "no batch"
    yield (2, 3, count, dim), 2, "bhtd"
    yield (2, count, 3, dim), 1, "bthd"


def _through(caller: Caller, shape: Shape) -> Probe:
    """What zeros become, if that is anything; else what the unit vectors become."""
    sizes, axis, layout = shape
    count = sizes[axis]
    places = _places(10**9)[:count] if _placed(caller) else np.arange(count)
    if "position" in caller.call.form:
        return _turned_singly(caller, places)

    def give(x: np.ndarray) -> list[np.ndarray]:
        values: dict[str, Any] = {"x": x, "k": x, "positions": places}
        out = caller.both(**{role: values[role] for role in caller.call.form if role in values})
        if out[0].shape != x.shape:
            raise UnfitError(f"it returned shape {out[0].shape} for vectors of shape {x.shape}")
        return [np.moveaxis(each, axis, -2).reshape(-1, count, sizes[-1]) for each in out]

    length = 0 if _placed(caller) else count
    zero = give(np.zeros(sizes))
    if np.abs(zero[0]).max() > 0:
        return _found(caller, places, zero[0][0], length=length, layout=layout)
    columns = [[each[0] for each in give(np.broadcast_to(unit, sizes).copy())] for unit in np.eye(sizes[-1])]
    query, key = (np.stack([column[side] for column in columns], -1) for side in (0, -1))
    _linear(give, query, sizes)
    findings = (_KEYS,) if not np.allclose(query, key, atol=1e-4) else ()
    return _found(caller, places, query, length=length, findings=findings, layout=layout)


def _turned_singly(caller: Caller, places: np.ndarray) -> Probe:
    """f(x, position): one vector at one position."""
    unit = np.eye(caller.dim)
    zero = np.stack([np.squeeze(caller(x=np.zeros(caller.dim), position=int(place))) for place in places])
    if np.abs(zero).max() > 0:
        return _found(caller, places, zero)
    values = [np.stack([np.squeeze(caller(x=row, position=int(place))) for row in unit], -1) for place in places]
    return _found(caller, places, np.stack(values))


def _linear(give: Callable[[np.ndarray], list[np.ndarray]], matrices: np.ndarray, sizes: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=sizes[-1])
    turned = give(np.broadcast_to(x, sizes).copy())[0][0]
    if not np.allclose(turned, matrices @ x, atol=1e-3 * (1 + np.abs(x).max())):
        raise UnfitError("what it does to a vector is not linear: neither an addition nor a rotation")


def _square(caller: Caller) -> Probe | None:
    """Where batch and length must be equal, they have been mixed up."""
    if set(caller.call.form) != {"x"}:
        return None
    try:
        values = caller(x=np.zeros((24, 24, caller.dim)))
    except Exception:
        return None
    if values.shape != (24, 24, caller.dim) or not np.abs(values).max() > 0:
        return None
    row = values[0] if np.ptp(values, axis=1).max() > 0 else values[:, 0]
    return _found(caller, np.arange(24), row, length=24, findings=(_BATCH,))


def _placed(caller: Caller) -> bool:
    """Whether positions are given, rather than counted from 0."""
    return "positions" in caller.call.form or "position" in caller.call.form


def _moves(found: Probe) -> bool:
    """Whether the values differ from one position to another."""
    return bool(np.ptp(found.observed.values, axis=0).max() > 0)


def _reaching(ask: Callable[[int], Probe], lengths: bool = False) -> Probe:
    """Ask as far as possible; where that fails, less far, and tell."""
    failed: BaseException | None = None
    for reach in REACHES[1 if lengths else 0 :]:
        try:
            found = ask(reach)
        except Exception as error:
            failed = failed or error
            continue
        if failed is None:
            return found
        note = (
            f"Beyond position {reach - 1} it refuses: {type(failed).__name__}."
            if not isinstance(failed, UnfitError)
            else ""
        )
        return Probe(
            found.observed, found.form, tuple(filter(None, (*found.notes, note))), found.findings, found.layout
        )
    raise failed or UnfitError("")


def _places(reach: int) -> np.ndarray:
    return np.array([place for place in PLACES if place < reach], dtype=np.int64)


def _found(
    caller: Caller,
    places: np.ndarray,
    values: np.ndarray,
    *,
    length: int = 0,
    findings: tuple[Finding, ...] = (),
    layout: str = "",
) -> Probe:
    """The numbers at the places that are compared; refuses what is neither a table nor rotations."""
    dim = caller.dim if "dim" in caller.call.form or values.ndim < 2 else values.shape[-1]
    if values.shape not in ((len(places), dim), (len(places), dim, dim)):
        raise UnfitError(f"it returned shape {values.shape} for {len(places)} positions and width {dim}")
    keep = np.isin(places, PLACES)
    door: Door = "adds" if values.ndim == 2 else "rotates"
    observed = Observed(
        door, places[keep].astype(np.float64), np.asarray(values)[keep].astype(np.float64), dtype_of(values), length
    )
    return Probe(observed, "", (), findings, layout)
