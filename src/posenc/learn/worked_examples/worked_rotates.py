"""Worked steps at the door that rotates: one line a pair of channels."""

from __future__ import annotations

import math

import numpy as np

from posenc.compose import Backward
from posenc.core import arrays, text_lines
from posenc.core.doors import RotaryEncoding
from posenc.core.rotation import Operator, Rotation, at_every_head
from posenc.inspect.spectrum import frequencies_of
from posenc.learn.worked_examples.steps import Request, WorkedStep, WorkedSteps, angle_text, factor_text
from posenc.phase import Frequencies


def worked_rotates(encoding: RotaryEncoding, request: Request) -> WorkedSteps:
    """Work out the angle of each pair and its effect on a vector; by default (1, 0) in every pair."""
    rotation = encoding.rotation(request.positions, request.params_of(encoding), role=encoding.roles[0])
    if not isinstance(rotation, Rotation) or rotation.heads is not None:
        return _by_channel(encoding, rotation, request)
    cosine, sine = (arrays.to_numpy(part)[0] for part in (rotation.cos, rotation.sin))
    first, second = (channels.tolist() for channels in rotation.pairing.split(np.arange(encoding.head_dim)))
    x = np.isin(np.arange(encoding.head_dim), first).astype(np.float64) if request.vector is None else request.vector
    y = arrays.to_numpy(rotation(x[None]))[0]
    frequencies = _frequencies(encoding, request, cosine, sine)
    coordinates = _coordinates(encoding, request, len(cosine))
    steps = []
    for pair, (a, b) in enumerate(zip(first, second, strict=True)):
        if request.dims is None or {a, b} & set(request.dims):
            radians, sides = math.atan2(sine[pair], cosine[pair]), ["angle"]
            if frequencies is not None:
                radians = coordinates[pair] * float(frequencies.radians()[pair])
                sides.append(angle_text(text_lines.number(coordinates[pair]), frequencies, pair))
            sides += [text_lines.number(radians)] if sides[-1] != text_lines.number(radians) else []
            degrees = text_lines.number(math.degrees(radians), 2)
            before, after = (f"({text_lines.number(z[a], 4)}, {text_lines.number(z[b], 4)})" for z in (x, y))
            line = f"pair {pair} (dimensions {a}, {b}): {' = '.join(sides)} rad = {degrees}°; {before} → {after}"
            steps.append(WorkedStep(line, (radians, float(y[a]), float(y[b]))))
    scaled = factor_text(rotation.factor)
    formula = f"(a, b) → {scaled}(a·cos θ - b·sin θ, a·sin θ + b·cos θ), θ the angle of the pair at this position"
    return WorkedSteps(formula, tuple(steps), (_lengths(encoding, x, y), *_notes(encoding, rotation), *request.notes()))


def _by_channel(encoding: RotaryEncoding, operator: Operator, request: Request) -> WorkedSteps:
    """Work out, channel by channel, any other map than one rotation of pairs; of several heads, the first."""
    x = np.ones(operator.dim) if request.vector is None else request.vector
    result = arrays.to_numpy(at_every_head(operator, x[None]))
    y = result[0] if operator.heads is None else result[0, 0]
    steps = [
        WorkedStep(f"dimension {channel}: {text_lines.number(float(value), 6)}", (float(value),))
        for channel, value in enumerate(y)
        if request.dims is None or channel in request.dims
    ]
    which = "" if operator.heads is None else " at head 0"
    formula = f"x → what {type(operator).__name__} makes of it at this position{which}"
    return WorkedSteps(formula, tuple(steps), (_lengths(encoding, x, y), *request.notes()))


def _notes(encoding: RotaryEncoding, rotation: Rotation) -> list[str]:
    """Remarks on the attention factor, on pairs that are stretched, and on dimensions that do not rotate."""
    notes = []
    first, second = rotation.pairing.split(np.arange(encoding.head_dim))
    without = sorted(set(range(encoding.head_dim)) - set(first.tolist()) - set(second.tolist()))
    if rotation.factor is None:
        notes.append("Each pair is stretched too, by a factor of its own: this is the rotation of a query.")
    elif rotation.factor != 1.0:
        grows = "what pairs add to logits grows" if without else "logits grow"
        notes.append(f"{text_lines.number(rotation.factor)} is the attention factor: {grows} by its square.")
    if without:
        names = [str(dimension) for dimension in without]
        names = names if len(names) <= 8 else [*names[:4], "…", *names[-4:]]
        notes.append(f"Dimensions without a pair pass unchanged: {', '.join(names)}.")
    return notes


def _lengths(encoding: RotaryEncoding, x: np.ndarray, y: np.ndarray) -> str:
    before, after = (float(np.linalg.norm(vector)) for vector in (x, y))
    lengths = f"length {text_lines.number(before)} before, {text_lines.number(after)} after"
    kept = before == after or ("isometry" in encoding.claims and math.isclose(before, after, rel_tol=1e-6))
    return f"The vector keeps its length: {lengths}." if kept else lengths


def _frequencies(
    encoding: RotaryEncoding, request: Request, cosine: np.ndarray, sine: np.ndarray
) -> Frequencies | None:
    """Frequencies of the encoding if position times frequency gives these cosines and sines, else None."""
    try:
        frequencies = frequencies_of(encoding)
    except TypeError:
        return None
    if frequencies.pairs != len(cosine):
        return None
    angles = _coordinates(encoding, request, len(cosine)) * frequencies.radians()
    differs = np.abs(np.cos(angles) * sine - np.sin(angles) * cosine).max() > 1e-4
    return None if differs else frequencies


def _coordinates(encoding: RotaryEncoding, request: Request, pairs: int) -> np.ndarray:
    """Coordinate that each pair rotates by: that of its axis, negative where it rotates backwards."""
    if isinstance(encoding, Backward):
        return -_coordinates(encoding.encoding, request, pairs)
    return np.array([request.coordinate(axis) for axis in getattr(encoding, "axis", (0,) * pairs)])
