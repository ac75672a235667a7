"""Models and encodings at another served length: frequencies of dynamic NTK and of LongRoPE depend on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from posenc.core.doors import Encoding
from posenc.frequencies import DynamicNTK, LongRoPE
from posenc.models.model_positions import LayerGroup, ModelPositions

#: Scalings that depend on the length that is served.
BY_LENGTH = (DynamicNTK, LongRoPE)
#: Fields of a model and of a group that hold encodings.
PLACES = {ModelPositions: ("groups", "draft"), LayerGroup: ("encodings", "roles")}

Record = TypeVar("Record")


def served_at(record: Record, length: int) -> Record:
    """Set the served length of every scaling in a model or an encoding that depends on it, also of roles and drafts.

    Example:
        >>> from posenc import RoPE
        >>> from posenc.frequencies import DynamicNTK
        >>> served_at(RoPE(dim=8, scaling=DynamicNTK(factor=2.0, original=100, length=100)), 150).scaling.length
        150
    """
    if isinstance(record, BY_LENGTH):
        return replace(record, length=length)
    if isinstance(record, tuple):
        return tuple(served_at(each, length) for each in record)  # type: ignore[return-value]
    changed = {name: served_at(value, length) for name, value in _inside(record).items()}
    return replace(record, **changed) if changed else record  # type: ignore[type-var]


def other_lengths(*records: ModelPositions | Encoding | None, served: int | None = None) -> list[int]:
    """List the lengths at which scalings that depend on the length show all that they do.

    Dynamic NTK does nothing up to its trained length, and LongRoPE has a list for prompts up to it.

    Args:
        *records: Models and encodings.
        served: The greatest length that is served; None for any.

    Returns:
        The trained lengths of those scalings, and twice the greatest; [] where no scaling depends on the length.
    """
    trained = sorted({scaling.original for scaling in _scalings(records)})
    lengths = [*trained, *(2 * length for length in trained[-1:])]
    return lengths if served is None else [length for length in lengths if length <= served]


def _scalings(record: Any) -> Iterator[DynamicNTK | LongRoPE]:
    """Yield the scalings inside of a record that depend on the length."""
    if isinstance(record, BY_LENGTH):
        yield record
        return
    for each in record if isinstance(record, tuple) else _inside(record).values():
        yield from _scalings(each)


def _inside(record: Any) -> dict[str, Any]:
    """The fields of a record in which such a scaling may lie, by name."""
    if not is_dataclass(record):
        return {}
    if type(record) in PLACES:
        return {name: getattr(record, name) for name in PLACES[type(record)]}
    values = ((field.name, getattr(record, field.name)) for field in fields(record) if field.init)
    return {name: value for name, value in values if is_dataclass(value)}
