"""Differences between two encodings or two models, by name, and their effect on angles, values and logits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import zip_longest
from operator import attrgetter
from typing import Any, Literal

from posenc.compose import Backward, Partial
from posenc.core import text_lines, validation
from posenc.core.doors import Encoding, RotaryEncoding
from posenc.models.effect_of_difference import Effect, effects_between
from posenc.models.fingerprints import canonical, fingerprint
from posenc.models.model_positions import (
    LayerGroup,
    ModelPositions,
    layer_ranges,
    windows_of_layers,
)
from posenc.models.notes import AsStated, Idle
from posenc.models.pair_rotation import pair_rotation
from posenc.models.reordered_rows import in_same_terms
from posenc.models.served_length import other_lengths, served_at

#: Characters of a value that are shown: lists of divisors are longer.
LONGEST = 100
#: What stands for a field that the other encoding does not have.
ABSENT = "none"


#: How two implementations compare, as the first line of every comparison says it.
Verdict = Literal["agree in everything that this evidence can show", "agree in what was compared", "differ"]
EVERYTHING: Verdict = "agree in everything that this evidence can show"
PARTLY: Verdict = "agree in what was compared"
#: Exit codes of the command line; 2 is for what cannot be compared.
EXIT_CODES: dict[Verdict, int] = {EVERYTHING: 0, "differ": 1, PARTLY: 3}


@dataclass(frozen=True)
class FieldDifference:
    """A field in which two encodings differ.

    Attributes:
        name: Of the field; fields of encodings inside stand behind a dot.
        first: The value of the first encoding, as text; "none" where it has no such field.
        second: The value of the second encoding, as text.
    """

    name: str
    first: str
    second: str

    def line(self) -> str:
        """Say the field and both values in a line.

        Returns:
            A line of text.
        """
        return f"{self.name}: {self.first} and {self.second}"


@dataclass(frozen=True)
class Difference:
    """The differences between two encodings, or between the same layers of two models, from `diff`.

    Attributes:
        first: The first encoding or model type, in short.
        second: The second one.
        same: Whether the mathematics is equal.
        where: The layers, in words; "" for encodings and whole models.
        fields: Those that differ, also where that changes no number.
        effects: At 1,024, 8,192 and 131,072 positions; empty where values are learned or doors differ.
        attention: The second attention factor divided by the first; logits differ by its square.
        parts: For models, a Difference for each group of layers that is not the same.
        not_compared: For models, what they do with positions that posenc does not read.
        notes: For models, what was taken for granted, such as that a converter has reordered rows.
    """

    first: str
    second: str
    same: bool
    where: str = ""
    fields: tuple[FieldDifference, ...] = ()
    effects: tuple[Effect, ...] = ()
    attention: float = 1.0
    parts: tuple[Difference, ...] = ()
    not_compared: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The result in words: "agree in what was compared" where posenc does not read all that either side does."""
        if not self.same:
            return "differ"
        return PARTLY if self.not_compared else EVERYTHING

    def lines(self) -> list[str]:
        """Say the differences and their effects, a line each.

        Returns:
            Lines of text.
        """
        if not self.where:
            same = f"the same mathematics{' in what was compared' if self.not_compared else ''}"
            head = [f"{self.first} and {self.second}: {same if self.same else 'not the same'}"]
        else:
            head = [f"{self.where}:"]
        lines = [field.line() for field in self.fields] + [effect.line() for effect in self.effects]
        if self.attention != 1.0:
            lines.append(
                f"attention factor times {self.attention:.6g}, so logits times {self.attention * self.attention:.6g}"
            )
        inner = [line for part in self.parts for line in part.lines()]
        notes = [f"note: {note}" for note in self.notes]
        return [*head, *(f"  {line}" for line in lines), *inner, *not_compared_lines(self.not_compared), *notes]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def not_compared_lines(not_compared: tuple[str, ...]) -> list[str]:
    """A line for each thing that was not compared."""
    return [f"not compared, because posenc does not read it: {note}" for note in not_compared]


def not_read_of_either(first: ModelPositions, second: ModelPositions) -> tuple[str, ...]:
    """Return the unread features of either model, tagged by side where only one has them.

    Keys that are compared only as stated are among them where one side states another value or none; other programs
    read some that transformers ignores. In models of one type the places of such keys must agree, else the last names.
    """
    words = attrgetter("stated_in_place" if first.model_type == second.model_type else "stated")
    stated = [frozenset(map(words, model.idle)) for model in (first, second)]
    sides = {
        side: (*model.not_read, *(_of_one(note) for note in model.idle if words(note) not in other))
        for side, model, other in (("first", first, stated[1]), ("second", second, stated[0]))
    }
    notes = dict.fromkeys((*sides["first"], *sides["second"]))
    alone = {note: [side for side, own in sides.items() if note in own] for note in notes}
    return tuple(f"{note} (the {having[0]} alone)" if len(having) == 1 else str(note) for note, having in alone.items())


def _of_one(note: Idle) -> str:
    return str(note) if isinstance(note, AsStated) else f"{note}; others may"


def diff(first: Any, second: Any) -> Difference:
    """Compare two encodings, or two models layer by layer.

    A model that was read from a GGUF file, or from Meta's, is compared with a config as its converter left it, with the
    rows of queries and keys reordered; `notes` says so.

    Args:
        first: An encoding, or what `from_config` and its kin return.
        second: The same kind of thing.

    Returns:
        The fields that differ, and what that does at positions 1,024, 8,192 and 131,072.

    Raises:
        TypeError: An argument is neither, or only one of them is a model.

    Example:
        >>> from posenc import RoPE
        >>> print(diff(RoPE(dim=64, base=10_000.0), RoPE(dim=64, base=500_000.0)))
        RoPE(dim=64) and RoPE(dim=64, base=500000.0): not the same
          base: 10000.0 and 500000.0
          at 1,024 the angle differs by up to 132.576 rad, in pair 3
          at 8,192 the angle differs by up to 1060.61 rad, in pair 3
          at 131,072 the angle differs by up to 16969.7 rad, in pair 3
    """
    if isinstance(first, ModelPositions) and isinstance(second, ModelPositions):
        return _models(first, second)
    for name, encoding in (("first", first), ("second", second)):
        validation.instance(name, encoding, Encoding, "an encoding, or both what from_config returns")
    return _encodings(first, second, "")


def _encodings(first: Encoding | None, second: Encoding | None, where: str) -> Difference:
    same = canonical(first) == canonical(second)
    return Difference(
        _named(first),
        _named(second),
        same,
        where,
        tuple(_fields(encoding_fields(first), encoding_fields(second))),
        () if same else effects_between(first, second),
        _factor(second) / _factor(first),
    )


def _models(first: ModelPositions, second: ModelPositions) -> Difference:
    first, second, notes = in_same_terms(first, second)
    unlike = _windows_of_one(first, second)
    if not (first.windows_known and second.windows_known):
        first, second = _without_windows(first), _without_windows(second)
    same = fingerprint(first) == fingerprint(second) and windows_of_layers(first) == windows_of_layers(second)
    same = same and _of_patches(first) == _of_patches(second)
    parts = tuple(difference for pair in _same_layers(first, second) for difference in _groups(*pair))
    if first.draft and second.draft:
        drafts = _models(*(replace(model, groups=model.draft, draft=(), notes=()) for model in (first, second)))
        same, parts = same and drafts.same, (*parts, *drafts.parts)
    fields = _fields({"model_type": first.model_type}, {"model_type": second.model_type})
    not_compared = (*not_read_of_either(first, second), *unlike)
    notes = (*notes, *drafts_of_one(first, second))
    names = (first.model_type, second.model_type)
    return Difference(*names, same, "", tuple(fields), parts=parts, not_compared=not_compared, notes=notes)


def drafts_of_one(first: ModelPositions, second: ModelPositions) -> tuple[str, ...]:
    """Note multi-token prediction layers that one side alone has; a model runs without them.

    Args:
        first: What `from_config` or another reader returns.
        second: The other side.

    Returns:
        The note, or () where both have such layers, or neither.
    """
    if bool(first.draft) == bool(second.draft):
        return ()
    side, model = ("first", first) if first.draft else ("second", second)
    layers = layer_ranges(tuple(layer for group in model.draft for layer in group.layers))
    return (f"{layers} of the {side} alone draft further tokens; the model runs without them",)


def _of_patches(model: ModelPositions) -> list[tuple[str, int, str, str]]:
    """List (part, layer, resizing, patches) of the layers that have either, which no fingerprint covers."""
    found = [
        (group.part, layer, str(group.resizing), str(group.patches))
        for group in model.groups
        for layer in _layers(group)
    ]
    return sorted(each for each in found if each[2:] != ("None", "None"))


def _windows_of_one(first: ModelPositions, second: ModelPositions) -> tuple[str, ...]:
    """The windows of a model that is compared with a format which does not say which layers have one."""
    if first.windows_known and second.windows_known:
        return ()
    lines = []
    for side, model in (("first", first), ("second", second)):
        for window in dict.fromkeys(window for window in windows_of_layers(model).values() if window):
            layers = tuple(sorted(layer for (_, layer), own in windows_of_layers(model).items() if own == window))
            lines.append(
                f"{window} in {layer_ranges(layers)}, of which the other's format says nothing (the {side} alone)"
            )
    return tuple(lines)


def _without_windows(model: ModelPositions) -> ModelPositions:
    """The same positions, with all keys in sight of every query."""
    return replace(model, groups=tuple(replace(group, window=None) for group in model.groups))


def _same_layers(
    first: ModelPositions, second: ModelPositions
) -> Iterator[tuple[str, LayerGroup | None, LayerGroup | None]]:
    """Yield each pair of groups that share layers, with those layers in words; None where a model lacks them."""
    for part in dict.fromkeys((*first.parts, *second.parts)):
        groups = [model.of(part) if part in model.parts else () for model in (first, second)]
        for kind in dict.fromkeys(kind_of_group(group) for group in (*groups[0], *groups[1])):
            ours, theirs = ([group for group in side if kind_of_group(group) == kind] for side in groups)
            layers_of: dict[tuple[int, int], list[int]] = {}
            for layer in sorted({layer for group in (*ours, *theirs) for layer in _layers(group)}):
                layers_of.setdefault((_index(ours, layer), _index(theirs, layer)), []).append(layer)
            for (one, other), layers in layers_of.items():
                where = f"{part}, {layer_ranges(tuple(layer for layer in layers if layer >= 0))}"
                yield where, ours[one] if one >= 0 else None, theirs[other] if other >= 0 else None


def kind_of_group(group: LayerGroup) -> str:
    """Return the kind of a group: "before" the first layer, "cross" for cross-attention, else "layers"."""
    if not group.layers:
        return "before"
    return "cross" if "cross" in group.attention else "layers"


def _layers(group: LayerGroup) -> tuple[int, ...]:
    """Return the layers of a group; (-1,) for a group before the first layer."""
    return group.layers or (-1,)


def _index(groups: list[LayerGroup], layer: int) -> int:
    return next((index for index, group in enumerate(groups) if layer in _layers(group)), -1)


def _groups(where: str, first: LayerGroup | None, second: LayerGroup | None) -> Iterator[Difference]:
    """Yield the Differences of two groups, encoding by encoding; factors, windows and roles come with the first."""
    if first is None or second is None:
        group = first or second
        uses = " and ".join(map(repr, group.encodings)) if group and group.encodings else ABSENT
        both = (uses, "no such layers") if first else ("no such layers", uses)
        yield Difference(*both, False, where, (FieldDifference("encodings", *both),))
        return
    factors = tuple(_fields(_factors_of_group(first), _factors_of_group(second)))
    for one, other in list(encodings_by_door(first.encodings, second.encodings)) or [(None, None)]:
        difference = _at_served_lengths(one, other, where)
        if factors or not difference.same or difference.fields:
            yield replace(difference, same=difference.same and not factors, fields=(*difference.fields, *factors))
        factors = ()


def _at_served_lengths(first: Encoding | None, second: Encoding | None, where: str) -> Difference:
    """Compare encodings of models, which serve many lengths: at their own, else at the first that shows more."""
    difference = _encodings(first, second, where)
    for length in other_lengths(first, second) if difference.same else ():
        other = _encodings(
            served_at(first, length), served_at(second, length), f"{where}, where {length:,} tokens are served"
        )
        if not other.same:
            return replace(other, effects=tuple(effect for effect in other.effects if effect.position <= length))
    return difference


def encodings_by_door(
    first: tuple[Encoding, ...], second: tuple[Encoding, ...]
) -> Iterator[tuple[Encoding | None, Encoding | None]]:
    """Pair the encodings of two groups door by door, in their order; None where one side has fewer."""
    for door in dict.fromkeys(encoding.door for encoding in (*first, *second)):
        yield from zip_longest(*([one for one in encodings if one.door == door] for encodings in (first, second)))


def _factors_of_group(group: LayerGroup) -> dict[str, Any]:
    return {
        "offset": group.offset,
        "logit_factor": group.logit_factor,
        "query_temperature": group.query_temperature or ABSENT,
        "bias_factor": group.bias_factor,
        "window": str(group.window or ABSENT),
        "resizing": str(group.resizing or ABSENT),
        "patches": str(group.patches or ABSENT),
        **{
            f"{rotation.role}.{name}": value
            for rotation in group.roles
            for name, value in encoding_fields(rotation.encoding).items()
        },
        **{f"{rotation.role}.rate": rotation.rate for rotation in group.roles},
    }


def encoding_fields(encoding: Any) -> dict[str, Any]:
    """Return an encoding's fields by name, nested ones as "scaling.factor"; a Partial has the fields of a whole head.

    Example:
        >>> from posenc import Linear, RoPE
        >>> encoding_fields(RoPE(dim=8, scaling=Linear(factor=2.0)))["scaling.factor"]
        2.0
    """
    if encoding is None:
        return {"encoding": ABSENT}
    encoding_values: dict[str, Any] = {"encoding": type(encoding).__name__}
    if isinstance(encoding, Partial):
        inner = encoding_fields(encoding.encoding)
        start = inner.get("start", 0) if isinstance(encoding.encoding, Partial) else 0
        return inner | {"head_dim": encoding.dim, "start": encoding.start + start}
    if isinstance(encoding, Backward):
        inner = encoding_fields(encoding.encoding)
        return inner | {"encoding": f"Backward of {inner['encoding']}"}
    for field in fields(encoding):
        value, name = getattr(encoding, field.name), field.name
        if name == "dim" and isinstance(encoding, RotaryEncoding):
            encoding_values |= {"head_dim": value, "width": value, "start": 0}
        elif is_dataclass(value):
            inside = encoding_fields(value)
            encoding_values |= {name: inside.pop("encoding")} | {f"{name}.{key}": side for key, side in inside.items()}
        else:
            encoding_values[name] = ABSENT if value is None else value
    return encoding_values


def _fields(first: dict[str, Any], second: dict[str, Any]) -> Iterator[FieldDifference]:
    for name in dict.fromkeys((*first, *second)):
        one, other = first.get(name, ABSENT), second.get(name, ABSENT)
        if one != other:
            yield FieldDifference(name, *_shown(one, other))


def _shown(first: Any, second: Any) -> tuple[str, str]:
    """Return both values as text; long ones are cut so that the excerpt shows where they differ."""
    one, other = (value if isinstance(value, str) else repr(value) for value in (first, second))
    same = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    start = 0 if one[:LONGEST] != other[:LONGEST] else max(same - LONGEST // 2, 0)
    return _cut(one, start), _cut(other, start)


def _cut(text: str, start: int) -> str:
    end = start + LONGEST
    return f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"


def _named(encoding: Encoding | None) -> str:
    return ABSENT if encoding is None else text_lines.short(encoding)


def _factor(encoding: Encoding | None) -> float:
    rotation = None if encoding is None else pair_rotation(encoding)
    return 1.0 if rotation is None else rotation.factor
