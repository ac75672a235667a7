"""What a view is: a record of what was asked for, checked field by field, that answers with plain data."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import numpy as np

from posenc import parse
from posenc.core import text_lines, validation
from posenc.core.declared_fields import Declared, Heads, Real, Whole
from posenc.core.doors import AdditiveEncoding, Encoding, RotaryEncoding

#: Wider, longer or with more to learn than any picture shows.
WIDEST, MOST_POSITIONS, MOST_LEARNED = 4096, 1024, 1 << 22
#: The most values that a picture has.
MOST_VALUES = 1 << 17
#: Fields of records that have a slider.
SLIDERS = ("dim", "base", "length", "heads")


@dataclass(frozen=True)
class View(Declared, abc.ABC):
    """A question of the page. ValueError or TypeError, naming a field, where it cannot be answered."""

    @abc.abstractmethod
    def facts(self) -> dict[str, Any]:
        """The answer, made of numbers, texts, lists and dicts."""


@dataclass(frozen=True)
class OfRecord(View, abc.ABC):
    """A question about a record, given as text; `dim`, `base`, `length` and `heads` change its fields."""

    record: str
    dim: Annotated[int, Whole(1, WIDEST)] | None = None
    base: Annotated[float, Real(0.0, 1e30, above=True)] | None = None
    length: Annotated[int, Whole(1, 1 << 24)] | None = None
    heads: Heads | None = None

    @property
    def parsed(self) -> Encoding:
        """The record that is meant, with its fields changed."""
        changes = {name: value for name in SLIDERS if (value := getattr(self, name)) is not None}
        return bounded(changed(encoding_of("record", self.record), changes))

    def described(self, record: Encoding) -> dict[str, Any]:
        """What every view of a record tells the page: its text, its door, and the fields that have sliders."""
        return {
            "record": written(record),
            "door": record.door,
            "axes": record.axes,
            "sliders": slider_fields(record),
            "learned": bool(record.shapes),
        }


def encoding_of(name: str, text: Any) -> Encoding:
    """The encoding that a text describes; it is parsed, never evaluated."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a text such as RoPE(dim=8); got {validation.shown(text)}. Write a record.")
    record = parse.record(text)
    if not isinstance(record, Encoding):
        raise ValueError(
            f"{name} must be an encoding; got {text:.100}, {parse.describe(record, 'Show one of its layers.')}"
        )
    return record


def script(*lines: str) -> str:
    """The lines of Python that give what a view shows, after the import that they need."""
    return "\n".join(["from posenc import *", "", *lines])


def written(record: Encoding) -> str:
    """The record as text without the fields that have their usual values, which reads back as the same record."""
    short = text_lines.short(record)
    try:
        return short if parse.record(short) == record else repr(record)
    except ValueError:
        return repr(record)


def changed(record: Encoding, changes: Mapping[str, Any]) -> Encoding:
    """The record with these fields, or, where it has none of a name, the record within it."""
    own = {name: value for name, value in changes.items() if name in field_names(record)}
    rest = {name: value for name, value in changes.items() if name not in own}
    inner = getattr(record, "encoding", None)
    if rest and isinstance(inner, Encoding):
        own["encoding"] = changed(inner, rest)
    return replace(record, **own) if own else record


def slider_fields(record: Encoding) -> dict[str, float]:
    """The numbers of the record, or of the record within it, that have a slider."""
    inner = getattr(record, "encoding", None)
    found = slider_fields(inner) if isinstance(inner, Encoding) else {}
    own = {name: getattr(record, name) for name in SLIDERS if name in field_names(record)}
    return {**found, **{name: value for name, value in own.items() if isinstance(value, int | float)}}


def field_names(record: Encoding) -> set[str]:
    return {field.name for field in fields(record) if field.init}


def bounded(record: Encoding) -> Encoding:
    """The record, if it is of a size that can be shown."""
    width = width_of(record)
    if width > WIDEST:
        raise ValueError(f"record must have at most {WIDEST} channels or heads; got {width}. Show a narrower one.")
    learned = sum(math.prod(shape) for shape in record.shapes.values())
    if learned > MOST_LEARNED:
        raise ValueError(
            f"record must learn at most {MOST_LEARNED:,} numbers to be shown; got {learned:,}. Show a smaller one."
        )
    return record


def width_of(record: Encoding) -> int:
    """How many channels, or heads, a record has."""
    if isinstance(record, AdditiveEncoding):
        return record.width
    return record.head_dim if isinstance(record, RotaryEncoding) else int(getattr(record, "heads", 1))


def learned(record: Encoding) -> Mapping[str, np.ndarray] | None:
    """What the record learns, drawn with seed 0; None where it learns nothing."""
    return record.init(np.random.default_rng(0)) if record.shapes else None
