"""Worked steps at the door that rotates: one line a pair of channels."""

from __future__ import annotations

import math

import numpy as np

from posenc import _array
from posenc.compose import Backward
from posenc.doors import Rotates
from posenc.inspect import _text
from posenc.inspect.spectrum import frequencies_of
from posenc.inspect.worked_examples.steps import Request, Step, Steps, angle
from posenc.phase import Frequencies
from posenc.turn import Operator, Turn, at_every_head


def rotates(record: Rotates, question: Request) -> Steps:
    """The angle of each pair and what it makes of a vector; by default (1, 0) in every pair."""
    turn = record.turn(question.at, question.learned(record), role=record.roles[0])
    if not isinstance(turn, Turn) or turn.heads is not None:
        return _by_channel(turn, question)
    cosine, sine = (_array.to_numpy(part)[0] for part in (turn.cos, turn.sin))
    first, second = turn.pairing.split(np.arange(record.head_dim))
    x = question.vector
    if x is None:
        x = np.zeros(record.head_dim)
        x[first] = 1.0
    y = _array.to_numpy(turn(x[None]))[0]
    frequencies = _frequencies(record, question, cosine, sine)
    places = _places(record, question, len(cosine))
    steps = []
    for pair, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        if question.dims is not None and not {a, b} & set(question.dims):
            continue
        radians = math.atan2(sine[pair], cosine[pair])
        written = ""
        if frequencies is not None:
            radians = places[pair] * float(frequencies.radians()[pair])
            written = f" = {angle(_text.number(places[pair]), frequencies, pair)}"
        shown = "" if written == f" = {_text.number(radians)}" else f" = {_text.number(radians)}"
        degrees = _text.number(math.degrees(radians), 2)
        steps.append(
            Step(
                f"pair {pair} (dimensions {a}, {b}): angle{written}{shown} rad = {degrees}°; "
                f"({_text.number(x[a], 4)}, {_text.number(x[b], 4)}) → ({_text.number(y[a], 4)}, {_text.number(y[b], 4)})",
                (radians, float(y[a]), float(y[b])),
            )
        )
    factor = 1.0 if turn.factor is None else turn.factor
    scaled = "" if factor == 1.0 else f"{_text.number(factor)} · "
    formula = f"(a, b) → {scaled}(a·cos θ - b·sin θ, a·sin θ + b·cos θ), θ the angle of the pair at this position"
    return Steps(formula, tuple(steps), (_length(x, y), *_notes(record, turn), *question.notes()))


def _length(x: np.ndarray, y: np.ndarray) -> str:
    before, after = (_text.number(float(np.linalg.norm(vector))) for vector in (x, y))
    lengths = f"length {before} before, {after} after"
    return f"The vector keeps its length: {lengths}." if _kept(x, y) else lengths


def _notes(record: Rotates, turn: Turn) -> list[str]:
    """What else the turn does to a vector: a factor, a stretch, and the dimensions that it leaves as they are."""
    notes = []
    if turn.factor is None:
        notes.append("Each pair is stretched too, by a factor of its own: this is the turn of a query.")
    elif turn.factor != 1.0:
        notes.append(f"{_text.number(turn.factor)} is the attention factor: logits grow by its square.")
    first, second = turn.pairing.split(np.arange(record.head_dim))
    without = sorted(set(range(record.head_dim)) - set(first.tolist()) - set(second.tolist()))
    if without:
        notes.append(f"Dimensions without a pair pass unchanged: {_some(without)}.")
    return notes


def _by_channel(operator: Operator, question: Request) -> Steps:
    """What another map than a turn of pairs, or that of the first head, makes of a vector; by default of ones."""
    x = np.ones(operator.dim) if question.vector is None else question.vector
    made = _array.to_numpy(at_every_head(operator, x[None]))
    y = made[0] if operator.heads is None else made[0, 0]
    steps = [
        Step(f"dimension {channel}: {_text.number(float(value), 6)}", (float(value),))
        for channel, value in enumerate(y)
        if question.dims is None or channel in question.dims
    ]
    lengths = f"length {_text.number(float(np.linalg.norm(x)))} before, {_text.number(float(np.linalg.norm(y)))} after"
    which = "" if operator.heads is None else " at head 0"
    return Steps(
        f"x → what {type(operator).__name__} makes of it at this position{which}",
        tuple(steps),
        (f"The vector keeps its length: {lengths}." if _kept(x, y) else lengths, *question.notes()),
    )


def _frequencies(record: Rotates, question: Request, cosine: np.ndarray, sine: np.ndarray) -> Frequencies | None:
    """The frequencies whose angles these are; None where the angle is not position times frequency."""
    try:
        frequencies = frequencies_of(record)
    except TypeError:
        return None
    if frequencies.pairs != len(cosine):
        return None
    angles = _places(record, question, len(cosine)) * frequencies.radians()
    if np.abs(np.cos(angles) * sine - np.sin(angles) * cosine).max() > 1e-4:
        return None
    return frequencies


def _places(record: Rotates, question: Request, pairs: int) -> np.ndarray:
    """The coordinate that each pair turns by: that of its axis, where the record says which; its negative, where it turns backward."""
    if isinstance(record, Backward):
        return -_places(record.encoding, question, pairs)
    return np.array([question.coordinate(axis) for axis in getattr(record, "axis", (0,) * pairs)])


def _some(dimensions: list[int]) -> str:
    texts = [str(dimension) for dimension in dimensions]
    return ", ".join(texts if len(texts) <= 8 else [*texts[:4], "…", *texts[-4:]])


def _kept(x: np.ndarray, y: np.ndarray) -> bool:
    return math.isclose(float(np.linalg.norm(x)), float(np.linalg.norm(y)), rel_tol=1e-6)
