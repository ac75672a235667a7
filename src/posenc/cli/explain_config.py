"""`posenc explain config.json`: what a model does with positions, a row a group of layers, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posenc.cli.answer import Answer, Heading, attributes, columns
from posenc.cli.inputs import model
from posenc.models.layer_sentences import in_words

if TYPE_CHECKING:
    from posenc.models import LayerGroup, ModelPositions


def explain_config(path: str, *, length: int | None, waive: tuple[str, ...]) -> Answer:
    """Explain the positions of a model, from its config or .gguf file."""
    positions = model(path, length, waive)
    positions = replace(positions, notes=(*positions.notes, *_of_receipt(Path(path), positions)))
    return Answer(lambda: positions_as_facts(positions), lambda: position_lines(positions))


def _of_receipt(path: Path, positions: ModelPositions) -> tuple[str, ...]:
    """Note on a `posenc convert` receipt in the config's folder, with a warning if the config's pairing disagrees."""
    from posenc.models.checkpoints.conversion import RECEIPT, layout_of_receipt
    from posenc.models.config.converted_type import layout_of

    layout = layout_of_receipt(path if path.is_dir() else path.parent)
    if layout is None:
        return ()
    note = f"{RECEIPT} says that the rows in this folder were converted to pairs that lie {layout}"
    stated = layout_of(positions)
    if stated not in (None, layout):
        note += f", and the config says {stated}: use the config.json that posenc convert writes"
    return (note,)


def position_lines(positions: ModelPositions) -> Iterator[str]:
    """Positions of a model as a table of its groups of layers, with the origin of every value, and notes."""
    from posenc.models import fingerprint

    yield Heading(f"{positions.model_type}   (fingerprint {fingerprint(positions)})")
    groups = _groups(positions)
    rows = [(group.part, _runs(group.layers), group.attention, "; ".join(in_words(group))) for group in groups]
    yield from columns(("part", "layers", "attention", "positions"), rows)
    yield Heading("\nwhere the values come from")
    yield from (f"  {value}" for value in dict.fromkeys(value for group in groups for value in group.values))
    notes = dict.fromkeys([*positions.notes, *(note for group in groups for note in group.notes)])
    if notes:
        yield Heading("\nnotes")
        yield from (f"  {note}" for note in notes)


def _groups(positions: ModelPositions) -> tuple[LayerGroup, ...]:
    """Groups of all layers, also of those that draft tokens."""
    return (*positions.groups, *positions.draft)


def _runs(layers: tuple[int, ...]) -> str:
    """Layer numbers as ranges, such as "0-3, 5", without the word "layers"."""
    from posenc.models.model_positions import layer_ranges

    return layer_ranges(layers).removeprefix("layers ").removeprefix("layer ")


def positions_as_facts(positions: ModelPositions) -> dict[str, Any]:
    """Positions of a model for --json."""
    from posenc.models import fingerprint

    names = ("part", "attention", "layers", "encodings", "pairing", "offset", "logit_factor", "query_temperature")
    groups = [
        {
            **attributes(group, *names, "bias_factor", "roles", "window", "values", "notes"),
            "words": in_words(group),
            "fingerprints": [fingerprint(encoding) for encoding in group.encodings],
        }
        for group in _groups(positions)
    ]
    return {
        "model_type": positions.model_type,
        "fingerprint": fingerprint(positions),
        "groups": groups,
        "notes": positions.notes,
    }
