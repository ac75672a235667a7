"""Alignment of a GGUF or Meta model with a config before comparison: converters reorder query and key rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from posenc.compose import Partial
from posenc.core.doors import Encoding, RotaryEncoding
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import LongRoPE, Scaling
from posenc.models.model_positions import DRAFT, LayerGroup, ModelPositions
from posenc.models.pair_rotation import pair_rotation
from posenc.models.served_length import other_lengths, served_at

#: How far numbers of a GGUF file may be off, of themselves: it holds float32, formed in float32.
FLOAT32 = 1e-6
#: The code that reads GGUF files.
LLAMA_CPP = "llama.cpp"
#: What is taken for granted, by the code that rotates adjacent pairs.
REORDERED = (
    "{} rotates adjacent pairs here, and its converter reorders the rows of queries and keys for that: "
    "this is no difference unless a file was made without it"
)


def in_same_terms(
    first: ModelPositions, second: ModelPositions
) -> tuple[ModelPositions, ModelPositions, tuple[str, ...]]:
    """Put a GGUF or Meta model in the terms of the config that it is compared with; return both, and assumptions.

    Divisors and factors stand in a GGUF file in float32. Between it, or Meta's file, and a config, rows of adjacent
    pairs were reordered from halves, or to halves.
    """
    if rotated_by(second) and not rotated_by(first):
        second, notes = _as_converted(second, first)
        return first, second, notes
    if rotated_by(first) and not rotated_by(second):
        first, notes = _as_converted(first, second)
        return first, second, notes
    return first, second, ()


def with_encodings(model: ModelPositions, change: Callable[[Encoding, LayerGroup], Encoding]) -> ModelPositions:
    """Return the model with `change` applied to every encoding of its groups and of its drafting layers."""

    def changed(groups: tuple[LayerGroup, ...]) -> tuple[LayerGroup, ...]:
        return tuple(
            replace(group, encodings=tuple(change(encoding, group) for encoding in group.encodings)) for group in groups
        )

    return replace(model, groups=changed(model.groups), draft=changed(model.draft))


def rotated_by(model: ModelPositions) -> str:
    """Name the code that reads a model's format, LLAMA_CPP or Meta's; "" for a config or any other format."""
    if any(value.name == "rope.freq_base" for group in model.groups for value in group.values):
        return LLAMA_CPP
    return "Meta's code" if model.model_type == "meta" else ""


def _as_converted(model: ModelPositions, other: ModelPositions) -> tuple[ModelPositions, tuple[str, ...]]:
    """Return a GGUF or Meta model in the terms of `other`: pairs in halves, numbers equal up to float32; with notes."""
    groups = [group for group in (*other.groups, *other.draft) if group.part in ("text", DRAFT)]
    rotations = {layer: group.rotary_encoding for group in groups for layer in group.layers}
    notes: dict[str, None] = {}

    def converted(encoding: Encoding, group: LayerGroup) -> Encoding:
        expected = rotations.get(group.layers[0]) if group.layers else None
        rope, theirs = _rope(encoding), _rope(expected)
        if rope is None or expected is None or theirs is None:
            return encoding
        if (rope.pairing, theirs.pairing) == ("adjacent", "halves"):
            notes[REORDERED.format(rotated_by(model))] = None
            encoding = _in_halves(encoding)
        return next((one for one in _nearest(encoding, expected) if _close_at_every_length(encoding, one)), encoding)

    return with_encodings(model, converted), tuple(notes)


def _rope(encoding: Encoding | None) -> RoPE | None:
    """The RoPE inside of an encoding; None where there is none."""
    return (
        _rope(encoding.encoding) if isinstance(encoding, Partial) else encoding if isinstance(encoding, RoPE) else None
    )


def _in_halves(encoding: Encoding) -> Encoding:
    """Return the encoding with the pairing "halves" in its RoPE."""
    if isinstance(encoding, Partial):
        return replace(encoding, encoding=_in_halves(encoding.encoding))  # type: ignore[arg-type]
    return replace(encoding, pairing="halves") if isinstance(encoding, RoPE) else encoding


def _nearest(encoding: Encoding, expected: RotaryEncoding) -> Iterator[Encoding]:
    """Yield what is expected; of LongRoPE also with its lists exchanged or one twice, or one field of this encoding."""
    yield expected
    ropes = _rope(encoding), _rope(expected)
    scalings = [rope.scaling for rope in ropes if rope is not None and isinstance(rope.scaling, LongRoPE)]
    if len(scalings) == 2:
        mine, theirs = scalings
        for short, long in ((theirs.long, theirs.short), (theirs.long,) * 2, (theirs.short,) * 2):
            yield _with_scaling(expected, replace(theirs, short=short, long=long))
        for name in ("short", "long", "original"):
            yield _with_scaling(expected, replace(theirs, **{name: getattr(mine, name)}))


def _with_scaling(encoding: Encoding, scaling: Scaling) -> Encoding:
    """Return the encoding with this scaling in its RoPE."""
    if isinstance(encoding, Partial):
        return replace(encoding, encoding=_with_scaling(encoding.encoding, scaling))  # type: ignore[arg-type]
    return replace(encoding, scaling=scaling) if isinstance(encoding, RoPE) else encoding


def _close_at_every_length(encoding: Encoding, other: Encoding) -> bool:
    """Say whether two rotations are the same up to float32, at the lengths that they state and at all others."""
    lengths = other_lengths(encoding, other)
    served = [(served_at(encoding, length), served_at(other, length)) for length in lengths]
    return all(_close(*both) for both in ((encoding, other), *served))


def _close(encoding: Encoding, other: Encoding) -> bool:
    """Say whether two rotations are the same up to float32, at the lengths that they state."""
    if not isinstance(encoding, RotaryEncoding) or not isinstance(other, RotaryEncoding):
        return False
    one, two = pair_rotation(encoding), pair_rotation(other)
    if one is None or two is None or (one.dim, one.first, one.second) != (two.dim, two.first, two.second):
        return False
    frequencies = np.allclose(one.radians(), two.radians(), rtol=FLOAT32, atol=0.0)
    return bool(frequencies and abs(one.factor - two.factor) <= FLOAT32 * two.factor)
