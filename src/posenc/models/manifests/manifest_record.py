"""The manifest of a model: what every layer does with positions, in every role, as plain numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, get_args

from posenc.core import validation
from posenc.models.config.json_file import SCHEMA
from posenc.models.model_positions import Chunks, Plain, Role, Source, Value, Window

#: The version of the form of a manifest.
VERSION = 1

#: What positions are used for: "main" of the queries and keys of attention, "latent" where these have a slice of their
#: own for positions (multi-head latent attention), else what is rotated besides them.
UseRole = Literal["main", "latent"] | Role
USE_ROLES: tuple[str, ...] = ("main", "latent", *get_args(Role))
#: What a note says; see `Note`.
NoteKind = Literal["note", "not read", "waived", "idle", "as stated"]
#: Where a usable length comes from.
LengthKind = Literal["declared", "trained", "scaled", "table"]


class Parameters(tuple[tuple[str, Plain], ...]):
    """Names and values, in order; an object in JSON."""

    __slots__ = ()


@dataclass(frozen=True)
class ManifestPairs:
    """The pairs of channels of a head that rotate, and how fast.

    Channels first[i] and second[i] become (a·cos - b·sin, a·sin + b·cos), times `amplitude`, at the angle
    position[axis[i]] · frequencies[i].

    Attributes:
        head_dim: Channels of a head.
        width: Channels that belong to a pair.
        pairing: "adjacent" for channels (2i, 2i+1), "halves" for (i, i + half); None where neither says it.
        axes: Coordinates of a position.
        first: First channel of each pair.
        second: Second channel of each pair.
        axis: Coordinate by which each pair rotates.
        frequencies: Radians a position, as float64; 0 for a pair that stands still.
        amplitude: Factor of cosines and sines, the table; logits of these channels change by its square.
        base: The base of the frequencies; None where they have none.
        scaling: Class of the scaling for a longer context, "YaRN" for example; None for none.
    """

    head_dim: int
    width: int
    pairing: Literal["adjacent", "halves"] | None
    axes: int
    first: tuple[int, ...]
    second: tuple[int, ...]
    axis: tuple[int, ...]
    frequencies: tuple[float, ...]
    amplitude: float
    base: float | None
    scaling: str | None


@dataclass(frozen=True)
class PositionUse:
    """An encoding, and what the layers of a group use it for.

    Attributes:
        role: "main", "latent", "indexer", "compressor", "output" or "values".
        door: How it enters: "adds" to embeddings, "rotates", "biases" logits, or "scores".
        encoding: The encoding as posenc writes it, and `posenc.parse.record` reads it.
        fingerprint: Sixteen digits that are equal where the mathematics is.
        parameters: Every field of the encoding by its name, those of encodings inside behind a dot.
        pairs: Of a rotation, its pairs; None where what rotates is learned, or is no pairs.
        rate: Positions from one vector to the next: vector i stands at position i·rate.
    """

    role: UseRole
    door: str
    encoding: str
    fingerprint: str
    parameters: Parameters
    pairs: ManifestPairs | None = None
    rate: int = 1


@dataclass(frozen=True)
class UsableLength:
    """Length that a model can use, in positions, according to one source.

    Attributes:
        kind: "declared" by the file, as max_position_embeddings is; "trained", before a scaling; "scaled", which that
            scaling reaches; "table", for which a learned table has rows.
        positions: How many.
        source: "file", "class default" or "caller" for a declared one; "encoding" for the others.
        key: The key of the file, or the field of the encoding.
    """

    kind: LengthKind
    positions: int
    source: Source | Literal["encoding"]
    key: str

    def __str__(self) -> str:
        return f"{self.positions:,} {self.kind} ({self.source}: {self.key})"


def shortest_table_or_longest(lengths: Iterable[UsableLength]) -> UsableLength | None:
    """Return the shortest length of a table; without tables the longest length; None for no lengths."""
    every = list(lengths)
    tables = [length for length in every if length.kind == "table"]
    if tables:
        return min(tables, key=lambda length: length.positions)
    return max(every, key=lambda length: length.positions, default=None)


@dataclass(frozen=True)
class ManifestGroup:
    """Layers of one part of a model that treat positions alike, in every role.

    Attributes:
        part: Of the model: "text", "vision" or "draft", for example.
        attention: The layer type as the file names it; "embedding" for what is added before layer 0.
        layers: Numbers of the layers, from 0; empty for what is added before layer 0.
        uses: The encodings and their roles; empty where the layers know no position (NoPE).
        head_dim: Channels of a head; None where no position depends on it.
        softmax_scale: Factor of q·k before the softmax: logit_factor / √head_dim; None where head_dim is None.
        logit_factor: The factor of logits besides 1/√d: where an amplitude is folded into the softmax, it is here.
        bias_factor: The factor of biases before they are added to the scaled logits.
        query_temperature: The factor of queries by their position; None for 1.
        window: The keys that a query sees, `Window` or `Chunks`; None where it sees all.
        offset: The row of a learned table that position 0 reads.
        lengths: The usable lengths, each with its source.
        resizing: How a learned table of a grid is resized to another, field by field; None where it never is.
        patches: How a vision tower counts the patches of an image, field by field; None for positions of no patches.
        values: Every value that was read, and its source.
        notes: Traps of this file or class.
    """

    part: str
    attention: str
    layers: tuple[int, ...]
    uses: tuple[PositionUse, ...]
    head_dim: int | None
    softmax_scale: float | None
    logit_factor: float
    bias_factor: float
    query_temperature: PositionUse | None
    window: Window | Chunks | None
    offset: int
    lengths: tuple[UsableLength, ...]
    resizing: Parameters | None
    patches: Parameters | None
    values: tuple[Value, ...]
    notes: tuple[Note, ...]

    @property
    def usable_length(self) -> UsableLength | None:
        """The length that counts: that of a table where there is one, else the longest that is stated; None for none.

        Longer input raises an error in a table, and is untrained elsewhere.
        """
        return shortest_table_or_longest(self.lengths)

    def use(self, role: UseRole) -> PositionUse | None:
        """Return the first encoding in a role; None where there is none.

        Args:
            role: One of the six roles.

        Returns:
            The use, or None.

        Raises:
            ValueError: `role` is none of them.
        """
        validation.choice("role", role, USE_ROLES)
        return next((use for use in self.uses if use.role == role), None)


@dataclass(frozen=True)
class Note:
    """A sentence on positions that no field holds.

    Attributes:
        text: The sentence.
        kind: "note"; "not read" for what posenc does not read and nothing compares; "waived" where the caller said so;
            "idle" for a key that the class of the model does not read, although another program may; "as stated" for
            one that is compared in no more than whether both models state it.
    """

    text: str
    kind: NoteKind = "note"


@dataclass(frozen=True)
class Manifest:
    """All positions of a model, layer by layer and role by role.

    Attributes:
        model_type: As the file names it.
        fingerprint: Sixteen digits that are equal where the mathematics of all layers is.
        groups: Layers that treat positions alike, in the order of the layers.
        windows_known: Whether a group without a window has none; where it is false, the format does not say.
        notes: Traps that concern the whole file.
    """

    model_type: str
    fingerprint: str
    groups: tuple[ManifestGroup, ...]
    windows_known: bool
    notes: tuple[Note, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the model, in order, each once."""
        return tuple(dict.fromkeys(group.part for group in self.groups))

    @property
    def roles(self) -> tuple[UseRole, ...]:
        """The roles that positions have in the model, in order, each once."""
        return tuple(dict.fromkeys(use.role for group in self.groups for use in group.uses))

    def rows(self) -> Iterator[tuple[ManifestGroup, PositionUse | None]]:
        """Iterate over every group and use.

        Yields:
            A group and one of its uses; None where its layers know no position.
        """
        for group in self.groups:
            for use in group.uses or (None,):
                yield group, use

    def at(self, layer: int, role: UseRole = "main", part: str = "text") -> PositionUse | None:
        """Return what a layer uses in a role; None where it uses nothing.

        Args:
            layer: Its number, from 0.
            role: One of the six roles.
            part: One of `parts`.

        Returns:
            The use, or None.

        Raises:
            ValueError: The model has no such part, or the part no such layer.
            TypeError: `layer` is no whole number.
        """
        validation.choice("part", part, self.parts)
        groups = [group for group in self.groups if group.part == part]
        last = max((max(group.layers, default=0) for group in groups), default=0)
        validation.integer("layer", layer, 0, last)
        found = (group.use(role) for group in groups if layer in group.layers)
        return next((use for use in found if use is not None), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the manifest as the plain data of its JSON.

        Returns:
            A dict of lists, dicts, numbers and words.
        """
        return {"schema": SCHEMA, "version": VERSION, **_plain(self)}

    def to_json(self) -> str:
        """Return the manifest as JSON, which `read_manifest` reads back exactly; manifest.schema.json is its schema.

        Returns:
            Lines of text.
        """
        return "\n".join(_json_lines(self.to_dict(), ""))


def _plain(value: Any) -> Any:
    """A value of a manifest as plain data."""
    if isinstance(value, Parameters):
        return {name: _plain(one) for name, one in value}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


def _json_lines(data: Any, indent: str) -> Iterator[str]:
    """Lines of JSON in which a list of plain values is one line."""
    entries = list(data.items() if isinstance(data, dict) else enumerate(data)) if isinstance(data, dict | list) else []
    if not any(isinstance(value, dict | list) for _, value in entries) and not isinstance(data, dict):
        yield json.dumps(data, allow_nan=False)
        return
    brackets = "{}" if isinstance(data, dict) else "[]"
    if not entries:
        yield brackets
        return
    yield brackets[0]
    for number, (key, value) in enumerate(entries, 1):
        name = f"{json.dumps(key)}: " if isinstance(data, dict) else ""
        first, *rest = _json_lines(value, f"{indent}  ")
        *inner, last = (f"{indent}  {name}{first}", *rest)
        yield from inner
        yield last + ("," if number < len(entries) else "")
    yield f"{indent}{brackets[1]}"
