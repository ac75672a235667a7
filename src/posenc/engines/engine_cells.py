"""Cells of the table: each field of an engine's positions beside what the file states."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from posenc.diagnosis.mistake import Finding
from posenc.engines.ask_engine import EngineReading
from posenc.engines.cell import Cell
from posenc.models.model_positions import LayerGroup, ModelPositions, Window, layer_ranges
from posenc.models.pair_rotation import PairRotation, pair_rotation
from posenc.probe.judge_probe import ERRORS
from posenc.probe.rotation_reading import LayerRotation

Field = Literal["pairs", "channels", "frequencies", "amplitude", "window", "biases", "rows"]
FIELDS: tuple[Field, ...] = get_args(Field)
#: Names of findings that belong to a field of their own; every other belongs to the first field that differs.
FIELD_OF: dict[str, Field] = {"attention factor": "amplitude", "amplitude": "amplitude", "window": "window"}
SAME = "as the file"
#: Why cells of other roles are not known.
NOT_ASKED = "queries and keys of attention are asked alone"
#: Amplitudes that differ by less than this, relatively, are the same.
LEAST_AMPLITUDE = 1e-4


def table_fields(positions: ModelPositions) -> tuple[Field, ...]:
    """List the table's columns for a model: those of rotations if any layer rotates, else biases, else rows."""
    doors = {encoding.door for group in positions.groups for encoding in group.encodings}
    if "rotates" in doors:
        return ("pairs", "channels", "frequencies", "amplitude", "window")
    return ("biases",) if "biases" in doors else ("rows",)


def cells_of_roles(positions: ModelPositions) -> dict[str, Cell]:
    """Cells of rotations that no engine is asked about: those of an indexer, of compressed keys, of draft layers.

    Args:
        positions: Of the file.

    Returns:
        A cell for each role that the file states besides attention's queries and keys, which says why it is not known.
    """
    roles = [rotation.role for group in positions.groups for rotation in group.roles]
    drafts = [group.part for group in positions.draft]
    return {name: Cell("not known", NOT_ASKED) for name in dict.fromkeys([*roles, *drafts])}


def live_cells(reading: EngineReading, expected: ModelPositions) -> dict[Field, Cell]:
    """Make an engine's cells from its reading, each compared with what the file states."""
    fields = table_fields(expected)
    agree, findings = reading.diagnosis.agree, reading.diagnosis.findings
    if fields[0] != "pairs":
        words = SAME if agree else _in_words(findings) or "differs from the file; no known mistake explains it"
        return {fields[0]: Cell("live", words, not agree)}
    layers = [(layer, _meant(expected, layer.layer)) for layer in reading.layers if isinstance(layer, LayerRotation)]
    differing = {} if agree else {field: _differing(field, layers) for field in fields}
    cells = {field: _cell(field, layers, differing.get(field, ())) for field in fields}
    cells["amplitude"] = replace(cells["amplitude"], source=reading.amplitude_source)
    return _with_findings(cells, findings)


class _Meant(NamedTuple):
    """Positions that the file states for a layer."""

    group: LayerGroup
    pairs: PairRotation | None


def _meant(expected: ModelPositions, layer: int) -> _Meant:
    group = expected.at(layer)[0]
    return _Meant(group, None if group.rotary_encoding is None else pair_rotation(group.rotary_encoding))


Layers = list[tuple[LayerRotation, _Meant]]


def _differing(field: Field, layers: Layers) -> tuple[int, ...]:
    return tuple(found.layer for found, meant in layers if _DIFFERS[field](found, meant))


def _cell(field: Field, layers: Layers, differing: tuple[int, ...]) -> Cell:
    if field == "window" and all(found.seen_to is None for found, _ in layers):
        return Cell("not known", "its functions for positions know no window")
    if not differing:
        return Cell("live", SAME)
    words = {_WORDS[field](found) for found, _ in layers if found.layer in differing}
    where = "" if len(differing) == len(layers) else f" ({layer_ranges(differing)})"
    return Cell("live", "; ".join(sorted(words)) + where, True)


def _with_findings(cells: dict[Field, Cell], findings: Iterable[Finding]) -> dict[Field, Cell]:
    """Replace the text of cells by the sentence of a known mistake, where one explains the difference."""
    differing = [field for field, cell in cells.items() if cell.differs] or ["frequencies"]
    by_field: dict[Field, list[Finding]] = {}
    for finding in findings:
        field = FIELD_OF.get(finding.name, differing[0])
        by_field.setdefault(field if cells[field].differs or field in FIELD_OF.values() else differing[0], []).append(
            finding
        )
    return {**cells, **{field: _explained(cells[field], found) for field, found in by_field.items()}}


def _explained(cell: Cell, findings: list[Finding]) -> Cell:
    """The cell with what a known mistake says; a number that was transcribed stays so."""
    return Cell("transcribed" if cell.source == "transcribed" else "live", _in_words(findings), True)


def _in_words(findings: Iterable[Finding]) -> str:
    return " ".join(f"{one.sentence}{f' ({one.where})' if one.where else ''}" for one in findings)


def _other_pairs(found: LayerRotation, meant: _Meant) -> bool:
    if meant.pairs is None or not found.rotates:
        return found.rotates != (meant.pairs is not None)
    return (found.pairing, found.direction) != (meant.group.pairing, 1)


def _other_channels(found: LayerRotation, meant: _Meant) -> bool:
    if meant.pairs is None or not found.rotates:
        return False
    first = min(meant.pairs.first)
    return (found.start, found.width) != (first, max(meant.pairs.second) - first + 1)


def _other_frequencies(found: LayerRotation, meant: _Meant) -> bool:
    if meant.pairs is None or not found.rotates:
        return False
    radians = meant.pairs.radians()
    if len(radians) != len(found.frequencies):
        return True
    return bool(np.any(np.abs(np.array(found.frequencies) - radians) > ERRORS * np.array(found.errors)))


def _other_amplitude(found: LayerRotation, meant: _Meant) -> bool:
    if not found.frequencies:  # the scores of channels that do not rotate
        return False
    factor = 1.0 if meant.pairs is None else meant.pairs.factor**2
    return abs(found.amplitude - factor) > max(ERRORS * found.amplitude_error, LEAST_AMPLITUDE * factor)


def _other_window(found: LayerRotation, meant: _Meant) -> bool:
    window = meant.group.window
    if found.seen_to is None or not isinstance(window, Window | None):
        return False
    if window is None:
        return found.hidden_from is not None
    size = window.before + 1
    return found.seen_to >= size or (found.hidden_from is not None and found.hidden_from < size)


_DIFFERS: dict[Field, Callable[[LayerRotation, _Meant], bool]] = {
    "pairs": _other_pairs,
    "channels": _other_channels,
    "frequencies": _other_frequencies,
    "amplitude": _other_amplitude,
    "window": _other_window,
}


def _pairs_in_words(found: LayerRotation) -> str:
    if not found.rotates:
        return "nothing rotates"
    if not found.pairing:
        return "the scores fit no rotation of pairs; no known mistake explains them"
    backward = " rotated backwards" if found.direction == -1 else ""
    return f"{found.pairing} pairs{backward}"


def _channels_in_words(found: LayerRotation) -> str:
    return f"channels {found.start} to {found.start + found.width - 1} of a head"


def _frequencies_in_words(found: LayerRotation) -> str:
    if not found.frequencies:
        return "none, where no pairs are found"
    shown = [f"{one:.6g}" for one in found.frequencies]
    return f"frequencies {', '.join([*shown[:2], '...', shown[-1]] if len(shown) > 3 else shown)}"


def _window_in_words(found: LayerRotation) -> str:
    if found.hidden_from is None:
        return f"keys are seen up to {found.seen_to} positions back, as far as was asked"
    least = (found.seen_to or 0) + 1
    most = "" if found.hidden_from == least else f" to {found.hidden_from}"
    return f"window of {least}{most} positions"


_WORDS: dict[Field, Callable[[LayerRotation], str]] = {
    "pairs": _pairs_in_words,
    "channels": _channels_in_words,
    "frequencies": _frequencies_in_words,
    "amplitude": lambda found: f"amplitude {found.amplitude:.6g}",
    "window": _window_in_words,
}
