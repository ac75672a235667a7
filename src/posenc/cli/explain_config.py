"""`posenc explain config.json`: what a model does with positions, a row a group of layers, in words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from posenc.cli import show
from posenc.doors import Adds, Biases, Encoding, Rotates
from posenc.frequencies import Scaling
from posenc.inspect import spectrum
from posenc.turn import Pairing

if TYPE_CHECKING:
    from posenc.models import LayerGroup, ModelPositions

#: Files that are read for what they say of positions.
ENDINGS = (".json", ".gguf")
#: What the others are, so that the message can say it.
WEIGHTS = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".safetensors", ".npz")


def is_config(text: str) -> bool:
    """Whether the argument is a file or folder rather than a record or a sentence."""
    return text.endswith(ENDINGS + WEIGHTS) or ("/" in text and " " not in text) or Path(text).is_dir()


def explain_config(path: str, *, length: int | None, waive: tuple[str, ...], json: bool) -> None:
    """Print what `from_config`, or `from_gguf` for a .gguf file, reads."""
    found = _read(path, length, waive)
    if json:
        print(show.as_json(_facts(found)))
        return
    from posenc.models import fingerprint

    show.heading(f"{found.model_type}   (fingerprint {fingerprint(found)})")
    rows = [(group.part, counted(group.layers), group.attention, "; ".join(told(group))) for group in found.groups]
    show.table(("part", "layers", "attention", "positions"), rows)
    show.heading("\nwhere the values come from")
    for value in dict.fromkeys(value for group in found.groups for value in group.values):
        show.say(f"  {value}")
    notes = dict.fromkeys([*found.notes, *(note for group in found.groups for note in group.notes)])
    if notes:
        show.heading("\nnotes")
        show.say(*(f"  {note}" for note in notes))


def _read(path: str, length: int | None, waive: tuple[str, ...]) -> ModelPositions:
    from posenc.models import from_config, from_gguf

    if path.endswith(WEIGHTS):
        raise ValueError(f"config must be a config.json, its folder or a .gguf file; got {path!r}. Name the config.")
    if path.endswith(".gguf"):
        if length is not None or waive:
            raise ValueError("length and waive must be left out for a .gguf file; got one. They are for configs.")
        return from_gguf(path)
    return from_config(path, length=length, waive=waive)


def counted(layers: tuple[int, ...]) -> str:
    """Layers as runs, without the word."""
    from posenc.models.model_positions import counted as runs

    return runs(layers).removeprefix("layers ").removeprefix("layer ")


def told(group: LayerGroup) -> list[str]:
    """What happens to positions in these layers, a sentence each."""
    said = [_of_record(record, group) for record in group.encodings] or ["no positional encoding"]
    if group.offset:
        said.append(f"the first token reads row {group.offset} of the table")
    if group.logit_factor != 1.0:
        said.append(f"logits are multiplied by {group.logit_factor:.6g} besides 1/√d")
    if group.bias_factor != 1.0:
        said.append(f"biases are multiplied by {group.bias_factor:.6g} before they are added to the scaled logits")
    if group.query_temperature is not None:
        said.append(f"queries are multiplied by {group.query_temperature!r}")
    return said


def _of_record(record: Encoding, group: LayerGroup) -> str:
    name = type(record).__name__
    if isinstance(record, Biases):
        return f"{name}: a bias for each of {record.heads} heads, {_fields(record)}"
    if isinstance(record, Adds):
        length = getattr(record, "length", None)
        rows = "" if length is None else f", {length} rows"
        return f"{name}: a vector of {record.width} channels{rows} is added to the embeddings"
    if isinstance(record, Rotates) and record is group.rotation and group.channels is not None:
        return _rotation(record, group.channels)
    return repr(record)


def _rotation(record: Rotates, channels: Pairing) -> str:
    """The rotation of a model in words: which channels, how fast, scaled how."""
    inner = record
    while isinstance(within := getattr(inner, "encoding", None), Rotates):
        inner = within
    whole = channels.width == channels.dim
    which = (
        f"all {channels.dim} channels"
        if whole
        else f"{channels.width} of {channels.dim} channels from {channels.start}"
    )
    pairs = "(2i, 2i+1)" if channels.layout == "adjacent" else "(i, i + half)"
    said = [f"{type(inner).__name__}: {which} of a head, pairs {pairs}"]
    base, scaling = getattr(inner, "base", None), getattr(inner, "scaling", None)
    if base is not None:
        said.append(f"base {base:,.10g}")
    if isinstance(scaling, Scaling):
        said.append(f"scaled by {scaling!r}")
    factor = getattr(inner, "attention_factor", 1.0)
    if factor != 1.0:
        said.append(f"cos and sin times {factor:.6g}")
    waves = _wavelengths(inner)
    return ", ".join([*said, *([waves] if waves else [])])


def _wavelengths(record: Encoding) -> str:
    try:
        found = [length for length in spectrum(record).wavelengths if length != float("inf")]
    except TypeError:
        return ""
    return f"one turn in {min(found):.4g} to {max(found):.4g} positions" if found else ""


def _fields(record: Encoding) -> str:
    return repr(record).partition("(")[2].removesuffix(")")


def _facts(found: ModelPositions) -> dict[str, Any]:
    from posenc.models import fingerprint

    groups = [
        {
            "part": group.part,
            "attention": group.attention,
            "layers": group.layers,
            "encodings": group.encodings,
            "pairing": group.pairing,
            "offset": group.offset,
            "logit_factor": group.logit_factor,
            "query_temperature": group.query_temperature,
            "bias_factor": group.bias_factor,
            "words": told(group),
            "values": group.values,
            "notes": group.notes,
            "fingerprints": [fingerprint(record) for record in group.encodings],
        }
        for group in found.groups
    ]
    return {
        "model_type": found.model_type,
        "fingerprint": fingerprint(found),
        "groups": groups,
        "notes": found.notes,
    }
