"""A view: a question of the page, checked field by field, that answers with plain data."""

from __future__ import annotations

import abc
import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import numpy as np

from posenc import parse
from posenc.core import text_lines, validation
from posenc.core.declared_fields import Declared, Heads, Real, Whole
from posenc.core.doors import Encoding
from posenc.inspect.encoding_facts import width_of

#: Wider, longer or with more to learn than any picture shows.
WIDEST, MOST_POSITIONS, MOST_LEARNED = 4096, 1024, 1 << 22
#: The most values that a picture has.
MOST_VALUES = 1 << 17
#: Fields of encodings that have a slider.
SLIDERS = ("dim", "base", "length", "heads")


@dataclass(frozen=True)
class View(Declared, abc.ABC):
    """A question of the page; ValueError or TypeError, naming a field, where it cannot be answered."""

    @abc.abstractmethod
    def facts(self) -> dict[str, Any]:
        """Answer, made of numbers, texts, lists and dicts."""


@dataclass(frozen=True)
class OfEncoding(View, abc.ABC):
    """A question about an encoding, given as text; `dim`, `base`, `length` and `heads` change its fields."""

    encoding: str
    dim: Annotated[int, Whole(1, WIDEST)] | None = None
    base: Annotated[float, Real(0.0, 1e30, above=True)] | None = None
    length: Annotated[int, Whole(1, 1 << 24)] | None = None
    heads: Heads | None = None

    @property
    def parsed(self) -> Encoding:
        """Encoding parsed from the text, with the stated slider fields changed and its size checked."""
        changes = {name: value for name in SLIDERS if (value := getattr(self, name)) is not None}
        return bounded(changed(encoding_of("encoding", self.encoding), changes))

    def described(self, encoding: Encoding) -> dict[str, Any]:
        """Facts that every view of an encoding tells the page: its text, its door, and the fields that have sliders."""
        return {
            "encoding": written(encoding),
            "door": encoding.door,
            "axes": encoding.axes,
            "sliders": slider_fields(encoding),
            "learned": bool(encoding.shapes),
        }


def encoding_of(name: str, text: Any) -> Encoding:
    """Encoding that a text describes; it is parsed, never evaluated."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a text such as RoPE(dim=8); got {validation.shown(text)}. Write an encoding.")
    encoding = parse.record(text)
    if not isinstance(encoding, Encoding):
        raise ValueError(
            f"{name} must be an encoding; got {text:.100}, {parse.describe(encoding, 'Show one of its layers.')}"
        )
    return encoding


def script(*lines: str) -> str:
    """Lines of Python that give what a view shows, after the import that they need."""
    return "\n".join(["from posenc import *", "", *lines])


def making(encoding: Encoding) -> tuple[list[str], str]:
    """Lines of Python that make an encoding and what it learns, and the argument that hands on the latter."""
    lines = ["from posenc import *", "", f"encoding = {written(encoding)}"]
    if not encoding.shapes:
        return lines, ""
    return [*lines, "params = encoding.init(np.random.default_rng(0))"], ", params"


def written(encoding: Encoding) -> str:
    """Encoding as text without the fields that have their usual values, which reads back as the same encoding."""
    short = text_lines.short(encoding)
    try:
        return short if parse.record(short) == encoding else repr(encoding)
    except ValueError:
        return repr(encoding)


def changed(encoding: Encoding, changes: Mapping[str, Any]) -> Encoding:
    """Replace named fields of an encoding; names that it lacks go to the encoding that it wraps, if any."""
    own = {name: value for name, value in changes.items() if name in field_names(encoding)}
    rest = {name: value for name, value in changes.items() if name not in own}
    inner = getattr(encoding, "encoding", None)
    if rest and isinstance(inner, Encoding):
        own["encoding"] = changed(inner, rest)
    return replace(encoding, **own) if own else encoding


def slider_fields(encoding: Encoding) -> dict[str, float]:
    """Numbers of the encoding, or of the encoding within it, that have a slider."""
    inner = getattr(encoding, "encoding", None)
    found = slider_fields(inner) if isinstance(inner, Encoding) else {}
    own = {name: getattr(encoding, name) for name in SLIDERS if name in field_names(encoding)}
    return {**found, **{name: value for name, value in own.items() if isinstance(value, int | float)}}


def field_names(encoding: Encoding) -> set[str]:
    """Names of the fields that an encoding is made with."""
    return {field.name for field in fields(encoding) if field.init}


def bounded(encoding: Encoding) -> Encoding:
    """Return the encoding, or raise ValueError if it is too wide or learns too many numbers to be shown."""
    width = width_of(encoding)
    if width > WIDEST:
        raise ValueError(f"encoding must have at most {WIDEST} channels or heads; got {width}. Show a narrower one.")
    learned = sum(math.prod(shape) for shape in encoding.shapes.values())
    if learned > MOST_LEARNED:
        raise ValueError(
            f"encoding must learn at most {MOST_LEARNED:,} numbers to be shown; got {learned:,}. Show a smaller one."
        )
    return encoding


def in_base64(values: np.ndarray) -> str:
    """Encode values as base64 of little-endian float64 in C order; infinite values become NaN.

    Example:
        >>> in_base64(np.array([1.0, np.inf]))
        'AAAAAAAA8D8AAAAAAAD4fw=='
    """
    finite = np.where(np.isfinite(values), values, np.nan)
    return base64.b64encode(finite.astype("<f8").tobytes()).decode("ascii")
