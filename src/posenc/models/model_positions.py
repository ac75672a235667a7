"""Positions of a model, layer by layer, and where every number of them came from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any, Literal, get_args

import numpy as np

from posenc.core import validation
from posenc.core.declared_fields import Declared, Whole
from posenc.core.doors import Encoding, RotaryEncoding
from posenc.core.rotation import Pairing, PairLayout, of_pairs
from posenc.encodings.adds.resize_table import Resizing
from posenc.encodings.rotates.temperature import QueryTemperature
from posenc.models.notes import Idle, NotRead, Waived
from posenc.models.patch_positions import PatchPositions

Source = Literal["file", "class default", "caller"]
#: Value of a config once read: nothing that can be changed.
Plain = None | bool | int | float | str | tuple["Plain", ...]


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str | None) or (type(value) is tuple and all(map(_is_plain, value)))


@dataclass(frozen=True)
class Value(Declared):
    """A value that an encoding was made from, and where it stands.

    Attributes:
        name: The key or notion, "rope_theta" for example.
        value: As it was used.
        source: "file", "class default" of the model type, or "caller" for what the caller stated.
        key: Its place in that source, "rope_parameters.rope_theta" for example.

    Raises:
        ValueError: A field breaks its rule; the message names it.
        TypeError: A field has the wrong type.
    """

    name: str
    value: Plain
    source: Source
    key: str

    def _check_together(self) -> None:
        validation.text("name", self.name)
        validation.text("key", self.key)
        if not _is_plain(self.value):
            shown = validation.shown(self.value)
            raise TypeError(f"value must be a number, a word, None or a tuple of them; got {shown}. Convert it.")

    def __str__(self) -> str:
        return f"{self.name} = {self.value!r} ({self.source}: {self.key})"


@dataclass(frozen=True)
class Window(Declared):
    """A sliding window: a query sees the keys near it, and its own, which is not counted here.

    So `sliding_window` = 4096 of a Hugging Face decoder, which counts it, is Window(4095). As `window` of
    `posenc.torch.attention` it is (before, after).

    Args:
        before: Positions before the query, from 0.
        after: Positions behind the query; 0 under a causal mask.

    Raises:
        ValueError: A field breaks its rule; the message names it.
        TypeError: A field has the wrong type.
    """

    before: Annotated[int, Whole(0, 2**53)]
    after: Annotated[int, Whole(0, 2**53)] = 0

    def __str__(self) -> str:
        behind = f" and up to {self.after:,} behind" if self.after else ""
        return f"keys up to {self.before:,} positions before the query{behind}"


@dataclass(frozen=True)
class Chunks(Declared):
    """Chunked attention: a query sees the keys of its own chunk, counted from position 0.

    Args:
        size: Positions of a chunk.

    Raises:
        ValueError: A field breaks its rule; the message names it.
        TypeError: A field has the wrong type.
    """

    size: Annotated[int, Whole(1, 2**53)]

    def __str__(self) -> str:
        return f"keys of the same chunk of {self.size:,} positions"


#: What is rotated besides the queries and keys of attention.
Role = Literal["indexer", "compressor", "output", "values"]


@dataclass(frozen=True)
class RoleRotation:
    """A rotation of something other than the queries and keys of attention.

    Attributes:
        role: What rotates: "indexer", the queries and keys that choose the keys of attention; "compressor", the keys
            made of several tokens each; "output", the output of attention; "values", its values.
        encoding: The rotary encoding.
        rate: Positions from one vector to the next: vector i stands at position i·rate.
    """

    role: Role
    encoding: RotaryEncoding
    rate: int = 1

    def __str__(self) -> str:
        at = f", vector i at position {self.rate}·i" if self.rate != 1 else ""
        return f"{self.role}: {self.encoding!r}{at}"


#: The part of layers that draft further tokens.
DRAFT = "draft"
#: The keys that a query sees, where it does not see all.
NearKeys = Window | Chunks


@dataclass(frozen=True)
class LayerGroup:
    """Layers of one part of a model that treat positions alike.

    Attributes:
        part: Of the model: "text", "vision", "audio", "encoder" or "decoder", for example.
        attention: The layer type as the file names it, "full_attention" for example; "embedding" for what is added
            before layer 0.
        layers: Numbers of the layers, from 0; empty for what is added before layer 0.
        encodings: In the order of use; empty where the layers know no position.
        offset: The row of a learned table that the first token reads.
        logit_factor: The factor of logits besides 1/√d.
        query_temperature: The factor of queries by their position; None for 1.
        values: Every value that was read, and its source.
        notes: Traps of this file or class.
        bias_factor: The factor of biases before they are added to the scaled logits.
        window: The keys that a query sees; None where it sees all, up to a causal mask.
        roles: Rotations of something other than the queries and keys of attention.
        resizing: How a learned table of a grid is resized to another grid; None where it never is.
        patches: How a vision tower counts the patches of an image; None where positions are not of patches.
        length: The positions that the file, or its class, says the part takes; None where neither says it.
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
    patches: PatchPositions | None = None
    length: Value | None = None

    def positions(self, height: int, width: int, *, frames: int = 1, merge: int | None = None) -> np.ndarray:
        """Return the positions that the encodings of a vision tower take for the patches of an image.

        They are in the order in which the tower takes the patches, each frame as an image by itself. Class and register
        tokens, which do not rotate, are not among them; those with vectors in a table are.

        Args:
            height: Rows of patches.
            width: Columns of patches.
            frames: Frames of a video; an image has one.
            merge: Side of the squares of patches that follow one another, of towers that take it for each image.

        Returns:
            (tokens, coordinates), or (tokens,) where a position is one number.

        Raises:
            ValueError: The group takes no patches, or no image of that grid.
            TypeError: An argument has the wrong type.

        Example:
            >>> from posenc.models import from_config
            >>> (group,) = from_config({"model_type": "dinov3_vit"}).groups
            >>> group.positions(1, 2).tolist()
            [[0.0, -0.5], [0.0, 0.5]]
        """
        if self.patches is None:
            raise ValueError(
                "height and width must be those of patches that this group encodes; got a group of "
                f"{self.part}, {self.attention}, without a grid. Count tokens with posenc.positions.span or media."
            )
        return self.patches.of(height, width, frames=frames, merge=merge)

    @property
    def rotary_encoding(self) -> RotaryEncoding | None:
        """The encoding that rotates queries and keys of attention; None where none does."""
        return next((encoding for encoding in self.encodings if isinstance(encoding, RotaryEncoding)), None)

    def rotary_encoding_of(self, role: Role) -> RotaryEncoding | None:
        """Return the encoding that rotates in another role than attention.

        Args:
            role: "indexer", "compressor", "output" or "values".

        Returns:
            The rotary encoding; None where nothing rotates in this role.

        Raises:
            ValueError: `role` is not one of the four.
        """
        validation.choice("role", role, get_args(Role))
        return next((rotation.encoding for rotation in self.roles if rotation.role == role), None)

    @property
    def channels(self) -> Pairing | None:
        """The channels of a head that rotate together, in pairs; None where nothing rotates."""
        encoding = self.rotary_encoding
        if encoding is None:
            return None
        origin = [0] if encoding.axes == 1 else [[0] * encoding.axes]
        return of_pairs("rotation", encoding.rotation(origin)).pairing

    @property
    def pairing(self) -> PairLayout | None:
        """The layout of the pairs, "adjacent" or "halves"; None where nothing rotates."""
        return None if self.channels is None else self.channels.layout

    def value(self, name: str) -> Value:
        """Return a value that was read, with its source.

        Args:
            name: As `Value.name` has it, "rope_theta" for example.

        Returns:
            The value.

        Raises:
            ValueError: No value of this name was read; the message lists those that were.
        """
        validation.text("name", name)
        for value in self.values:
            if value.name == name:
                return value
        known = ", ".join(value.name for value in self.values)
        raise ValueError(f"name must be a value that was read; got {name!r}. Known here: {known or 'none'}.")

    def explain(self) -> str:
        """Return one line: the layers, what they use, and every value with its source.

        Returns:
            A line of text.
        """
        uses = " and ".join(map(repr, self.encodings)) or "no positional encoding"
        layers = f"{self.part}, {self.attention}, {layer_ranges(self.layers)}: {uses}"
        return ". ".join(filter(None, (layers, *self.beside_encodings(), "; ".join(map(str, self.values))))) + "."

    def beside_encodings(self) -> list[str]:
        """Return a sentence for each thing that happens to positions besides the encodings.

        Returns:
            Sentences without a full stop.
        """
        sentences = []
        if self.offset:
            sentences.append(f"the first token reads row {self.offset} of the table")
        if self.logit_factor != 1.0:
            sentences.append(f"logits are multiplied by {self.logit_factor:.6g} besides 1/√d")
        if self.bias_factor != 1.0:
            said = "before they are added to the scaled logits"
            sentences.append(f"biases are multiplied by {self.bias_factor:.6g} {said}")
        if self.query_temperature is not None:
            sentences.append(f"queries are multiplied by {self.query_temperature!r}")
        sentences += map(str, self.roles)
        if self.window is not None:
            sentences.append(f"queries see {self.window}")
        if self.resizing is not None:
            sentences.append(f"for an image of another grid the table is resized: {self.resizing}")
        if self.patches is not None:
            sentences.append(f"positions of patches: {self.patches}")
        return sentences


@dataclass(frozen=True)
class ModelPositions:
    """The groups of layers of a model, as read from a config, a GGUF file or the arguments of a trainer.

    Attributes:
        model_type: As the file names it.
        groups: In the order of the layers.
        notes: Traps that concern the whole file.
        windows_known: Whether a group without a window has none; where it is false, the format does not say.
        draft: Groups of the layers behind those of the model that draft further tokens; in no fingerprint.
    """

    model_type: str
    groups: tuple[LayerGroup, ...]
    notes: tuple[str, ...] = ()
    windows_known: bool = False
    draft: tuple[LayerGroup, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the model, in order, each once."""
        return tuple(dict.fromkeys(group.part for group in self.groups))

    @property
    def main_part(self) -> str:
        """The part that takes text, else the first one; "text" for a model without groups."""
        return "text" if "text" in self.parts else next(iter(self.parts), "text")

    @property
    def not_read(self) -> tuple[NotRead, ...]:
        """The notes on what the model does with positions that posenc does not read, each once."""
        return tuple(note for note in self._every_note() if isinstance(note, NotRead))

    @property
    def idle(self) -> tuple[Idle, ...]:
        """The notes on keys that the model's class does not read, each once."""
        return tuple(note for note in self._every_note() if isinstance(note, Idle))

    def _every_note(self) -> dict[str, None]:
        return dict.fromkeys((*self.notes, *(note for group in self.groups for note in group.notes)))

    @property
    def waived(self) -> tuple[Waived, ...]:
        """The notes on keys that the caller lets go unread."""
        return tuple(note for note in self.not_read if isinstance(note, Waived))

    def of(self, part: str) -> tuple[LayerGroup, ...]:
        """Return the groups of a part.

        Args:
            part: One of `parts`.

        Returns:
            The groups, in the order of the layers.

        Raises:
            ValueError: The model has no such part.
        """
        validation.choice("part", part, self.parts)
        return tuple(group for group in self.groups if group.part == part)

    def at(self, layer: int, part: str = "text") -> tuple[LayerGroup, ...]:
        """Return the groups that a layer belongs to: one, or more where it has cross-attention.

        Args:
            layer: Its number, from 0.
            part: One of `parts`.

        Returns:
            The groups of the layer.

        Raises:
            ValueError: The model has no such part, or the part no such layer.
            TypeError: `layer` is no whole number.
        """
        groups = self.of(part)
        last = max((max(group.layers, default=0) for group in groups), default=0)
        validation.integer("layer", layer, 0, last)
        return tuple(group for group in groups if layer in group.layers)

    def explain(self) -> str:
        """Return the model type, one line for each group of layers, and the notes.

        Returns:
            Lines of text.
        """
        rows = [group.explain() for group in (*self.groups, *self.draft)]
        return "\n".join([self.model_type, *rows, *(f"note: {note}" for note in self._every_note())])


def windows_of_layers(model: ModelPositions) -> dict[tuple[str, int], NearKeys | None]:
    """The window of every layer with self-attention, by part and layer."""
    groups = (group for group in model.groups if "cross" not in group.attention)
    return {(group.part, layer): group.window for group in groups for layer in group.layers}


def layer_ranges(layers: tuple[int, ...]) -> str:
    """Write numbers of layers as runs.

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
