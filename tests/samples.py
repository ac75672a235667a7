"""The samples of the catalog, and which of them `make test` asks; `make nightly` asks the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from posenc.catalog import CATALOG, row
from posenc.core.doors import Encoding

SAMPLES: tuple[Encoding, ...] = tuple(encoding for row in CATALOG for encoding in row.samples)


def _options(encoding: Any) -> Iterator[tuple[type, str, Any]]:
    """What chooses a way through the code: classes, words, yes and no, and whether there is anything; no numbers."""
    for field in fields(encoding):
        value = getattr(encoding, field.name)
        if isinstance(value, str | bool | None):
            yield type(encoding), field.name, value
        for part in value if isinstance(value, tuple) else (value,):
            if is_dataclass(part):
                yield type(encoding), field.name, type(part)
                yield from _options(part)


def _distinct() -> Iterator[Encoding]:
    seen: set[Any] = set()
    for encoding in SAMPLES:
        options = {type(encoding), *_options(encoding)}
        if options - seen:
            seen |= options
            yield encoding


#: One sample for each way through the code: one that has an option which none before it has.
DISTINCT: frozenset[Encoding] = frozenset(_distinct())
#: The first sample of each row, and of each class: the scalings are rows of one class.
FIRST: frozenset[Encoding] = frozenset(row.samples[0] for row in CATALOG)
FIRST_OF_CLASS: frozenset[Encoding] = frozenset({type(encoding): encoding for encoding in reversed(SAMPLES)}.values())


def firsts(*names: str) -> frozenset[Encoding]:
    """The first sample of each of these rows."""
    return frozenset(row(name).samples[0] for name in names)


#: One row a door.
DOORS: frozenset[Encoding] = firsts("Sinusoidal", "RoPE", "T5Bias", "Shaw")
#: And one for each thing that a door does in more than one way: parameters, several axes, content.
EACH_DOOR: frozenset[Encoding] = DOORS | firsts("Learned", "GridLearned", "LearnedRoPE", "AxialRoPE", "ALiBi", "CoPE")


def by_night(encodings: Iterable[Encoding], *, daily: Collection[Encoding]) -> list[Any]:
    """The cases of a parametrized test: those of `daily` in every run, the others by night alone."""
    return [pytest.param(encoding, marks=[] if encoding in daily else [pytest.mark.nightly]) for encoding in encodings]
