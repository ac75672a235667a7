"""The manifest of what a reader found in a config, a GGUF file or a trainer's arguments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Literal

from posenc.compose import Partial
from posenc.core import validation
from posenc.core.doors import Encoding, RotaryEncoding
from posenc.core.rotation import Rotation
from posenc.encodings.adds.learned import Learned
from posenc.frequencies import YaRN
from posenc.models.difference import ABSENT, encoding_fields
from posenc.models.fingerprints import fingerprint
from posenc.models.manifests.manifest_record import (
    Manifest,
    ManifestGroup,
    ManifestPairs,
    Note,
    NoteKind,
    Parameters,
    PositionUse,
    UsableLength,
    UseRole,
    shortest_table_or_longest,
)
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.models.notes import AsStated, Idle, NotRead, Waived
from posenc.models.pair_rotation import pair_rotation, unwrapped

#: The kind that a manifest states of each note; "note" for a plain sentence.
NOTE_KINDS: Mapping[type[str], NoteKind] = MappingProxyType(
    {NotRead: "not read", Waived: "waived", Idle: "idle", AsStated: "as stated"}
)
#: Keys that a group has read where its heads have a slice for positions, in configs and in GGUF.
LATENT_KEYS = frozenset({"qk_rope_head_dim", "qk_nope_head_dim", "swa_qk_rope_head_dim", "attention.key_length_mla"})


def manifest(model: ModelPositions) -> Manifest:
    """Return the manifest of a model: every layer and role as plain numbers, in a form that any language reads.

    Args:
        model: What `from_config`, `from_gguf` and their kin return.

    Returns:
        The manifest.

    Raises:
        TypeError: `model` is something else.

    Example:
        >>> from posenc.models import from_config
        >>> found = manifest(from_config({"model_type": "gpt_oss"}))
        >>> pairs = found.at(0).pairs
        >>> pairs.base, pairs.scaling, round(pairs.amplitude, 4), found.groups[0].window
        (150000.0, 'YaRN', 1.3466, Window(before=127, after=0))
    """
    validation.instance("model", model, ModelPositions, "what from_config returns")
    groups = tuple(map(_of_group, (*model.groups, *model.draft)))
    return Manifest(model.model_type, fingerprint(model), groups, model.windows_known, _notes(model.notes))


def _of_group(group: LayerGroup) -> ManifestGroup:
    main = _main_role(group)
    uses = [_use(main, encoding) for encoding in group.encodings]
    uses += [_use(rotation.role, rotation.encoding, rotation.rate) for rotation in group.roles]
    temperature = group.query_temperature
    head_dim = _head_dim(group)
    return ManifestGroup(
        part=group.part,
        attention=group.attention,
        layers=group.layers,
        uses=tuple(uses),
        head_dim=head_dim,
        softmax_scale=None if head_dim is None else group.logit_factor / math.sqrt(head_dim),
        logit_factor=group.logit_factor,
        bias_factor=group.bias_factor,
        query_temperature=None if temperature is None else _use("main", temperature),
        window=group.window,
        offset=group.offset,
        lengths=tuple(_lengths(group)),
        resizing=_fields_of(group.resizing),
        patches=_fields_of(group.patches),
        values=group.values,
        notes=_notes(group.notes),
    )


def _main_role(group: LayerGroup) -> UseRole:
    """Return "latent" where queries and keys have a separate rotary slice (latent attention), else "main"."""
    names, rotary = {value.name for value in group.values}, group.rotary_encoding
    # In a GGUF file, channels that rotate lie behind others in latent attention alone.
    sliced = "rope.freq_base" in names and isinstance(rotary, Partial) and rotary.start > 0
    return "latent" if sliced or names & LATENT_KEYS else "main"


def _head_dim(group: LayerGroup) -> int | None:
    encoding = group.rotary_encoding or group.query_temperature
    return None if encoding is None else encoding.head_dim


def _use(role: UseRole, encoding: Encoding, rate: int = 1) -> PositionUse:
    pairs = _pairs(encoding) if isinstance(encoding, RotaryEncoding) else None
    named = encoding_fields(encoding).items()
    parameters = Parameters((name, None if value == ABSENT else _plain(value)) for name, value in named)
    return PositionUse(role, encoding.door, repr(encoding), fingerprint(encoding), parameters, pairs, rate)


def _plain(value: Any) -> Any:
    """A field of an encoding as a plain value."""
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _pairs(encoding: RotaryEncoding) -> ManifestPairs | None:
    """Return the pairs of a rotation as manifest data; None where it learns, or has no pairs."""
    found = pair_rotation(encoding)
    if found is None:
        return None
    inner = unwrapped(encoding)
    base, scaling = getattr(inner, "base", None), getattr(inner, "scaling", None)
    return ManifestPairs(
        found.dim,
        2 * found.pairs,
        _pairing(encoding),
        encoding.axes,
        found.first,
        found.second,
        found.axis,
        tuple(found.radians().tolist()),
        found.factor,
        base if isinstance(base, float) else None,
        None if scaling is None else type(scaling).__name__,
    )


def _pairing(encoding: RotaryEncoding) -> Literal["adjacent", "halves"] | None:
    origin = [0] if encoding.axes == 1 else [[0] * encoding.axes]
    rotation = encoding.rotation(origin)
    if not isinstance(rotation, Rotation) or rotation.pairing.blocks != 1:
        return None
    return rotation.pairing.layout


def _lengths(group: LayerGroup) -> Iterator[UsableLength]:
    """The usable lengths that a group states: of the file, of its scalings, of its tables."""
    if (declared := _declared(group)) is not None and not _is_beyond_yarn(group):
        yield declared
    for encoding in group.encodings:
        if isinstance(encoding, Learned):
            yield UsableLength("table", encoding.length - group.offset, "encoding", "length")
        scaling = getattr(unwrapped(encoding), "scaling", None)
        original, factor = (getattr(scaling, name, None) for name in ("original", "factor"))
        if original is not None:
            yield UsableLength("trained", original, "encoding", "scaling.original")
        if original is not None and factor is not None:
            yield UsableLength("scaled", round(original * factor), "encoding", "scaling.factor")


def _declared(group: LayerGroup) -> UsableLength | None:
    if group.length is None:
        return None
    return UsableLength("declared", int(group.length.value), group.length.source, group.length.key)  # type: ignore[arg-type]


def _is_beyond_yarn(group: LayerGroup) -> bool:
    """Whether a group declares more positions than its YaRN reaches, which by its definition are original · factor.

    Files of Llama 3.1 declare more than this product of their scaling, since its model was trained for more.
    """
    declared, scalings = _declared(group), [getattr(unwrapped(one), "scaling", None) for one in group.encodings]
    reached = [round(one.original * one.factor) for one in scalings if isinstance(one, YaRN)]
    return declared is not None and any(declared.positions > positions for positions in reached)


def declared_beyond_yarn(model: ModelPositions) -> UsableLength | None:
    """Return the length that the text of a model declares where its YaRN reaches less; None elsewhere.

    Example:
        >>> from posenc.models import from_config
        >>> yarn = {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 32768}
        >>> config = {"model_type": "llama", "max_position_embeddings": 131072, "rope_scaling": yarn}
        >>> print(declared_beyond_yarn(from_config(config)))
        131,072 declared (file: max_position_embeddings)
    """
    beyond = (group for group in model.groups if group.part == model.main_part and _is_beyond_yarn(group))
    return next((_declared(group) for group in beyond), None)


def _fields_of(record: Any) -> Parameters | None:
    if record is None:
        return None
    return Parameters((field.name, _plain(getattr(record, field.name))) for field in fields(record))


def _notes(notes: tuple[str, ...]) -> tuple[Note, ...]:
    return tuple(Note(str(note), _kind(note)) for note in notes)


def _kind(note: str) -> NoteKind:
    """The kind of a note, by the nearest class that has one."""
    return next((NOTE_KINDS[one] for one in type(note).__mro__ if one in NOTE_KINDS), "note")


def usable_length(model: ModelPositions) -> UsableLength | None:
    """The tokens that the text of a model takes, by what says so: the shortest table, else the longest length stated.

    A length that is declared beyond what YaRN reaches does not count.

    Example:
        >>> from posenc.models import from_config
        >>> print(usable_length(from_config({"model_type": "gpt2"})))
        1,024 table (encoding: length)
    """
    groups = (group for group in model.groups if group.part == model.main_part)
    lengths, beyond = (length for group in groups for length in _lengths(group)), declared_beyond_yarn(model)
    return shortest_table_or_longest(one for one in lengths if beyond is None or one.kind != "declared")
