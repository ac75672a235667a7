"""Difference between the manifest of a config and what a probe shows, layer by layer and role by role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from posenc.encodings.biases.alibi import ALiBi
from posenc.models.difference import ABSENT, Difference, FieldDifference
from posenc.models.manifests.manifest_of_model import manifest
from posenc.models.manifests.manifest_record import ManifestPairs
from posenc.models.model_positions import ModelPositions, layer_ranges
from posenc.probe.bias_reading import LayerBias
from posenc.probe.judge_probe import windows_that_differ
from posenc.probe.layout import ProbeLayout
from posenc.probe.rotation_reading import LayerRotation
from posenc.probe.row_reading import TableRows

#: A number that was read is another than is meant if it is off by so many errors.
ERRORS = 8.0
#: Fields of a layer in a role that are printed.
SHOWN = 4
MEANT, READ = "the config", "the engine"
DIRECTIONS = {1: "forward", -1: "backward"}

#: Fields of a layer in a role that differ: the role, and the fields.
RoleFields = tuple[str, tuple[FieldDifference, ...]]


def manifest_difference(expected: ModelPositions, layout: ProbeLayout, layers: Sequence[object]) -> Difference | None:
    """Compare what was read of each layer and role with the config's manifest, in the form of a `diff` of two files.

    Args:
        expected: What the config states.
        layout: Of the probe.
        layers: What was read.

    Returns:
        The difference; None where no field of the manifest shows it.
    """
    alike: dict[object, tuple[RoleFields, list[int]]] = {}
    for reading in layers:
        role, fields = _fields(expected, layout, reading)
        if fields:  # error bars may differ in layers that are alike
            key = role, tuple((field.name, field.first, field.second.partition(" ± ")[0]) for field in fields)
            alike.setdefault(key, ((role, fields), []))[1].append(getattr(reading, "layer", -1))
    parts = tuple(
        Difference(MEANT, READ, False, f"{layer_ranges(tuple(one for one in numbers if one >= 0))}, {role}", fields)
        for (role, fields), numbers in alike.values()
    )
    return Difference(MEANT, READ, False, parts=parts) if parts else None


def short_lines(difference: Difference) -> list[str]:
    """Return the difference as lines, with at most four fields for each layer and role."""
    lines = []
    for part in difference.parts:
        rest = len(part.fields) - SHOWN
        lines += replace(part, fields=part.fields[:SHOWN]).lines() + ([f"  and {rest} more"] if rest > 0 else [])
    return [*replace(difference, parts=()).lines(), *lines]


def _fields(expected: ModelPositions, layout: ProbeLayout, reading: object) -> RoleFields:
    if isinstance(reading, LayerRotation):
        group = next(group for group in manifest(expected).groups if reading.layer in group.layers)
        use = next((use for use in group.uses if use.pairs is not None), None)
        meant = None if use is None else use.pairs
        windows = [
            FieldDifference(f"window {side}".rstrip(), stated, found)
            for _, side, stated, found in windows_that_differ(expected, (reading,))
        ]
        return "main" if use is None else use.role, (*_of_rotation(meant, reading, layout), *windows)
    if isinstance(reading, LayerBias):
        return "main", tuple(_of_bias(expected, reading))
    return "main", tuple(_of_rows(expected, reading)) if isinstance(reading, TableRows) else ()


def _of_rotation(meant: ManifestPairs | None, read: LayerRotation, layout: ProbeLayout) -> Iterator[FieldDifference]:
    if meant is None or not read.rotates:
        if (meant is not None) != read.rotates:
            rotates, none = "pairs rotate", "nothing rotates"
            yield FieldDifference("pairs", *((rotates, none) if meant else (none, rotates)))
        yield from _size(1.0, read) if meant is None and not read.rotates else ()
        return
    start = read.start + layout.first
    moving = np.flatnonzero(meant.frequencies)
    direction = DIRECTIONS[int(np.sign(meant.frequencies[moving[0]]))]
    words = {
        "pairing": (meant.pairing or "neither", read.pairing or "unknown"),
        "start": (min((*meant.first, *meant.second)), start),
        "width": (meant.width, read.width),
        "direction": (direction, DIRECTIONS.get(read.direction, direction)),
    }
    differ = [FieldDifference(name, *map(str, two)) for name, two in words.items() if two[0] != two[1]]
    yield from differ
    if not {"pairing", "start", "width"} & {field.name for field in differ}:
        yield from _of_frequencies(meant, read)
    yield from _size(meant.amplitude, read)


def _size(meant: float, read: LayerRotation) -> Iterator[FieldDifference]:
    """Yield the amplitude if it differs: the square root of the read product of the queries' and keys' factors."""
    if abs(read.amplitude - meant * meant) > ERRORS * read.amplitude_error:
        size = np.sqrt(abs(read.amplitude))
        shown = f"{size:.6g} ± {read.amplitude_error / 2 / max(size, 1e-9):.1g}"
        yield FieldDifference("amplitude", f"{meant:.6g}", shown)


def _of_frequencies(meant: ManifestPairs, read: LayerRotation) -> Iterator[FieldDifference]:
    """Yield how frequencies differ: by base and scaling where they follow one base, else by the pair furthest off."""
    frequencies, errors = np.array(read.frequencies), np.array(read.errors)
    stated = np.abs(meant.frequencies)
    if len(stated) != len(frequencies):
        return
    off = np.abs(frequencies - stated) / np.maximum(errors, 1e-300)
    if not np.any(off > ERRORS):
        return
    base = _base(frequencies, errors)
    if base is None or meant.base is None:
        wrong = off > ERRORS
        pair = int(np.argmax(wrong * np.abs(frequencies / np.maximum(stated, 1e-300) - 1)))
        name = f"frequency of pair {pair} ({wrong.sum()} of {len(off)} differ)"
        yield FieldDifference(name, f"{stated[pair]:.6g}", f"{frequencies[pair]:.6g} ± {errors[pair]:.1g}")
        return
    value, error = base
    if abs(value - meant.base) > ERRORS * error:
        yield FieldDifference("base", f"{meant.base:.10g}", f"{value:.6g} ± {error:.1g}")
    if meant.scaling is not None:
        yield FieldDifference("scaling", meant.scaling, ABSENT)


def _base(frequencies: np.ndarray, errors: np.ndarray) -> tuple[float, float] | None:
    """The base of base^(-2i/width) and its error, where all frequencies are so made."""
    if len(frequencies) < 3 or np.any(frequencies <= 0):
        return None
    share = np.arange(1, len(frequencies)) / len(frequencies)
    logarithms, off = -np.log(frequencies[1:]) / share, errors[1:] / frequencies[1:] / share
    best = int(np.argmin(off))
    base = float(np.exp(logarithms[best]))
    gap = np.abs(frequencies - base ** (-np.arange(len(frequencies)) / len(frequencies)))
    return (base, float(base * off[best])) if np.all(gap <= ERRORS * (errors + frequencies * off[best])) else None


def _of_bias(expected: ModelPositions, read: LayerBias) -> Iterator[FieldDifference]:
    group = expected.at(read.layer)[0]
    encoding = next(one for one in group.encodings if isinstance(one, ALiBi))
    for head, (meant, (slope, error)) in enumerate(zip(encoding.slopes(), read.slopes(), strict=True)):
        meant = -meant * group.bias_factor
        if abs(slope - meant) > ERRORS * error:
            yield FieldDifference(f"slope of head {head}", f"{meant:.6g}", f"{slope:.6g} ± {error:.1g}")


def _of_rows(expected: ModelPositions, read: TableRows) -> Iterator[FieldDifference]:
    offset = expected.groups[0].offset
    for position, row in zip(read.positions, read.rows, strict=True):
        if row != position + offset:
            yield FieldDifference(
                f"row of position {position}", str(position + offset), ABSENT if row < 0 else str(row)
            )
