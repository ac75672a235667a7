"""Mistakes of rotations over several axes: which pair reads which coordinate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from posenc.diagnosis.mistake import Changed, Hints, Mistake
from posenc.diagnosis.rotation.usage import Parts, Use, parts
from posenc.encodings.rotates.axial_rope import AxialRoPE


def _axial(use: Use) -> tuple[Parts, AxialRoPE] | None:
    own = parts(use.record)
    return (own, own.rope) if own and isinstance(own.rope, AxialRoPE) else None


def _with(use: Use, own: Parts, rope: AxialRoPE, axis: tuple[int, ...]) -> Use | None:
    try:
        return replace(use, record=own._replace(rope=replace(rope, axis=axis)).whole())
    except (ValueError, TypeError):
        return None


def exchanged(use: Use, hints: Hints) -> Changed:
    """Two coordinates, one for the other."""
    found = _axial(use)
    if found is None:
        return
    own, rope = found
    for one, other in combinations(range(rope.axes), 2):
        swap = {one: other, other: one}
        changed = _with(use, own, rope, tuple(swap.get(axis, axis) for axis in rope.axis))
        if changed:
            yield changed, {"one": one, "other": other}


def arranged(use: Use, hints: Hints) -> Changed:
    """The same number of pairs for each axis, in blocks or interleaved."""
    found = _axial(use)
    if found is None:
        return
    own, rope = found
    counts = [rope.axis.count(axis) for axis in range(rope.axes)]
    for name, axis in (("in blocks", _blocks(counts)), ("interleaved", tuple(_strided(counts)))):
        changed = _with(use, own, rope, axis)
        if changed and axis != rope.axis:
            yield changed, {"got": name}


def sizes(use: Use, hints: Hints) -> Changed:
    """Other numbers of pairs for each axis: the other config's, or each permutation of these in blocks."""
    found = _axial(use)
    if found is None:
        return
    own, rope = found
    target = hints.record.rope if hints.record else None
    counts = tuple(rope.axis.count(axis) for axis in range(rope.axes))
    if isinstance(target, AxialRoPE):
        options = [target.axis] if len(target.axis) == len(rope.axis) else []
    elif hints.target is None:
        options = [_blocks([counts[at] for at in order]) for order in _orders(len(counts))]
    else:
        options = []
    for axis in options:
        changed = _with(use, own, rope, axis)
        got = tuple(axis.count(number) for number in range(max(axis) + 1))
        if changed and axis != rope.axis:
            yield changed, {"got": list(got), "meant": list(counts)}


def _blocks(counts: list[int]) -> tuple[int, ...]:
    return tuple(axis for axis, count in enumerate(counts) for _ in range(count))


def _strided(counts: list[int]) -> Iterator[int]:
    """Pair i reads axis i mod axes while that has pairs left, else the first one."""
    for pair in range(sum(counts)):
        axis = pair % len(counts)
        yield axis if pair < len(counts) * counts[axis] else 0


def _orders(count: int) -> list[tuple[int, ...]]:
    """Orders that exchange two."""
    whole = tuple(range(count))
    return [tuple({one: other, other: one}.get(at, at) for at in whole) for one, other in combinations(range(count), 2)]


AXES: tuple[Mistake, ...] = (
    Mistake("axes exchanged", "Coordinates {one} and {other} are exchanged, height and width, say.", "Look at the order of the coordinates that positions are built in.", exchanged),
    Mistake("sections arranged otherwise", "The pairs of the axes stand {got}.", "Look at mrope_interleaved: it says whether sections are blocks or alternate.", arranged),
    Mistake("section sizes", "The axes have {got} pairs where {meant} are meant.", "Set mrope_section={meant}.", sizes),
)  # fmt: skip
