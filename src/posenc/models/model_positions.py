"""What a model does with positions, layer by layer, and where every number of it came from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated, Literal

from posenc.core import validation
from posenc.core.declared_fields import Declared, Whole
from posenc.core.doors import Encoding, RotaryEncoding
from posenc.core.rotation import Pairing, PairLayout, of_pairs
from posenc.encodings.adds.resize_table import Resizing
from posenc.encodings.rotates.temperature import QueryTemperature

Source = Literal["file", "class default", "caller"]
#: What a value of a config may be once read: nothing that can be changed.
Plain = None | bool | int | float | str | tuple["Plain", ...]


class NotRead(str):
    """A note on what a model does with positions that posenc does not read, so that nothing compares it."""

    __slots__ = ()


class Waived(NotRead):
    """A note on a key that concerns positions, which the caller lets go unread."""

    __slots__ = ()


@dataclass(frozen=True)
class Value(Declared):
    """One value that an encoding was made from.

    name    the field or notion, "base", say
    value   as it was used
    source  "file", "class default" of the model type, or stated by the "caller"
    key     where it stands in that source, "rope_parameters.rope_theta", say
    """

    name: str
    value: Plain
    source: Source
    key: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value!r} ({self.source}: {self.key})"


@dataclass(frozen=True)
class Window(Declared):
    """A query sees the keys up to `before` positions before it, and up to `after` positions behind it."""

    before: Annotated[int, Whole(0, 2**53)]
    after: Annotated[int, Whole(0, 2**53)] = 0

    def __str__(self) -> str:
        behind = f" and up to {self.after:,} behind" if self.after else ""
        return f"keys up to {self.before:,} positions before the query{behind}"


@dataclass(frozen=True)
class Chunks(Declared):
    """A query sees the keys of its own chunk of `size` positions; chunks are counted from position 0."""

    size: Annotated[int, Whole(1, 2**53)]

    def __str__(self) -> str:
        return f"keys of the same chunk of {self.size:,} positions"


#: What besides the queries and keys of attention is rotated.
Role = Literal["indexer", "compressor", "output", "values"]


@dataclass(frozen=True)
class RoleRotation:
    """A rotation other than that of the queries and keys of attention.

    Args:
        role: Of the queries and keys of an "indexer", which chooses the keys of attention; of the keys that a
            "compressor" makes of several tokens; of the "output" of attention; of its "values".
        encoding: The encoding.
        rate: Vector i stands at position i·rate, as the keys of a compressor do.
    """

    role: Role
    encoding: RotaryEncoding
    rate: int = 1

    def __str__(self) -> str:
        at = f", vector i at position {self.rate}·i" if self.rate != 1 else ""
        return f"{self.role}: {self.encoding!r}{at}"


#: Which keys near it a query sees.
NearKeys = Window | Chunks


@dataclass(frozen=True)
class LayerGroup:
    """Layers of one part of a model that treat positions alike.

    part               "text", "vision", "audio", "encoder" or "decoder", say
    attention          the layer type in the file, "full_attention", say; "embedding" for what is added before layer 0
    layers             counted from 0
    encodings          the encodings, in the order of use; empty where the layers know no position
    offset             the row of a learned table that the first token reads
    logit_factor       what logits are multiplied by besides 1/√d
    query_temperature  what queries are multiplied by
    values             where each number came from
    notes              traps of this file or class
    bias_factor        what biases are multiplied by before they are added to the scaled logits
    window             which keys near it a query sees; None where it sees all, up to a causal mask
    roles              rotations other than that of the queries and keys of attention
    resizing           how its learned table of a grid is resized to another grid; None where it never is
    """

    part: str
    attention: str
    layers: tuple[int, ...]
    encodings: tuple[Encoding, ...]
    offset: int = 0
    logit_factor: float = 1.0
    query_temperature: QueryTemperature | None = None
    values: tuple[Value, ...] = ()
    notes: tuple[str, ...] = ()
    bias_factor: float = 1.0
    window: NearKeys | None = None
    roles: tuple[RoleRotation, ...] = ()
    resizing: Resizing | None = None

    @property
    def rotary_encoding(self) -> RotaryEncoding | None:
        """The encoding that rotates queries and keys; None where nothing does."""
        return next((encoding for encoding in self.encodings if isinstance(encoding, RotaryEncoding)), None)

    def rotary_encoding_of(self, role: Role) -> RotaryEncoding | None:
        """The encoding that rotates in a role other than attention; None where nothing does."""
        return next((rotation.encoding for rotation in self.roles if rotation.role == role), None)

    @property
    def channels(self) -> Pairing | None:
        """Which channels of a head rotate together; None where nothing rotates."""
        rotation = self.rotary_encoding
        if rotation is None:
            return None
        origin = [0] if rotation.axes == 1 else [[0] * rotation.axes]
        return of_pairs("rotation", rotation.rotation(origin)).pairing

    @property
    def pairing(self) -> PairLayout | None:
        """The layout of the channels that rotate together; None where nothing rotates."""
        return None if self.channels is None else self.channels.layout

    def value(self, name: str) -> Value:
        """Where a number came from, by its name in the encoding."""
        for value in self.values:
            if value.name == name:
                return value
        known = ", ".join(value.name for value in self.values)
        raise ValueError(f"name must be a value that was read; got {name!r}. Known here: {known or 'none'}.")

    def explain(self) -> str:
        """One row: layers, what they use, and every value with its source."""
        uses = " and ".join(map(repr, self.encodings)) or "no positional encoding"
        parts = [f"{self.part}, {self.attention}, {layer_ranges(self.layers)}: {uses}"]
        if self.offset:
            parts.append(f"the table is read from row {self.offset} on")
        if self.logit_factor != 1.0:
            parts.append(f"logits times {self.logit_factor:.6g} besides 1/√d")
        if self.bias_factor != 1.0:
            parts.append(f"biases times {self.bias_factor:.6g}")
        if self.query_temperature:
            parts.append(f"queries times {self.query_temperature!r}")
        parts += map(str, self.roles)
        if self.window:
            parts.append(f"queries see {self.window}")
        if self.resizing:
            parts.append(f"for a picture of another grid the table is resized: {self.resizing}")
        if self.values:
            parts.append("; ".join(map(str, self.values)))
        return ". ".join(parts) + "."


@dataclass(frozen=True)
class ModelPositions:
    """Every group of layers of a model, as read from its config.

    Args:
        model_type: As the file names it.
        groups: In the order of the layers.
        notes: What concerns the whole file.
        windows_known: Whether a group without a window has none; where it is false, the format does not say.
    """

    model_type: str
    groups: tuple[LayerGroup, ...]
    notes: tuple[str, ...] = ()
    windows_known: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the model, in order, each once."""
        return tuple(dict.fromkeys(group.part for group in self.groups))

    @property
    def not_read(self) -> tuple[NotRead, ...]:
        """The notes on what the model does with positions that posenc does not read, each once."""
        notes = (*self.notes, *(note for group in self.groups for note in group.notes))
        return tuple(dict.fromkeys(note for note in notes if isinstance(note, NotRead)))

    @property
    def waived(self) -> tuple[Waived, ...]:
        """The notes on keys that the caller lets go unread."""
        return tuple(note for note in self.not_read if isinstance(note, Waived))

    def of(self, part: str) -> tuple[LayerGroup, ...]:
        """The groups of a part."""
        validation.choice("part", part, self.parts)
        return tuple(group for group in self.groups if group.part == part)

    def at(self, layer: int, part: str = "text") -> tuple[LayerGroup, ...]:
        """The groups that a layer belongs to: one, or more where it has cross-attention."""
        groups = self.of(part)
        last = max((max(group.layers, default=0) for group in groups), default=0)
        validation.integer("layer", layer, 0, last)
        return tuple(group for group in groups if layer in group.layers)

    def explain(self) -> str:
        """One row a group of layers, then the notes."""
        rows = [group.explain() for group in self.groups]
        notes = dict.fromkeys([*self.notes, *(note for group in self.groups for note in group.notes)])
        return "\n".join([self.model_type, *rows, *(f"note: {note}" for note in notes)])


def windows_of_layers(model: ModelPositions) -> dict[tuple[str, int], NearKeys | None]:
    """The window of every layer with self-attention, by part and layer."""
    groups = (group for group in model.groups if "cross" not in group.attention)
    return {(group.part, layer): group.window for group in groups for layer in group.layers}


def without_windows(model: ModelPositions) -> ModelPositions:
    """The same positions, with all keys in sight of every query."""
    return replace(model, groups=tuple(replace(group, window=None) for group in model.groups))


def layer_ranges(layers: tuple[int, ...]) -> str:
    """Layers as runs.

    Example:
        >>> layer_ranges((0, 1, 2, 4)), layer_ranges((3,)), layer_ranges(())
        ('layers 0-2, 4', 'layer 3', 'before the layers')
    """
    if not layers:
        return "before the layers"
    # Within a run, a layer's number and its place in the list grow together.
    runs = [[layer for _, layer in run] for _, run in groupby(enumerate(layers), lambda place: place[1] - place[0])]
    words = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return ("layer " if len(layers) == 1 else "layers ") + ", ".join(words)
