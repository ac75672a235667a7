"""Scalings that depend on a length, pinned to the length of one sequence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.frequencies import DynamicNTK, LongRoPE
from posenc.frequencies.scalings.scaling import LONGEST

Pinned = TypeVar("Pinned", bound=Encoding)
#: Scalings whose frequencies depend on the length that is served.
LENGTH_TRIGGERED = DynamicNTK | LongRoPE


def pin_length(encoding: Pinned, length: int) -> Pinned:
    """Pin the scaling of an encoding to the length of one sequence, for as long as its cache lives.

    Released code takes the length from the longest row of a batch, at every step: cached keys then have one table and
    new queries another. A pinned encoding has one table. Where a sequence outgrows it, pin a longer one and rotate the
    cache anew with `rerotated`.

    Args:
        encoding: An encoding, with or without a scaling that depends on a length, wrapped or not.
        length: Length that the sequence may reach, prompt and answer together.

    Returns:
        The encoding for this length; itself where nothing depends on one.

    Raises:
        TypeError: `encoding` is no encoding, or `length` no whole number.
        ValueError: `length` is out of range.

    Example:
        >>> from posenc import DynamicNTK, RoPE
        >>> encoding = RoPE(dim=64, scaling=DynamicNTK(factor=2.0, original=2048, length=2048))
        >>> longer = pin_length(encoding, 8192)
        >>> longer.scaling.length, pinned_length(longer), pinned_length(RoPE(dim=64))
        (8192, 8192, None)
    """
    validation.instance("encoding", encoding, Encoding, "an encoding")
    changed: Pinned = _with_length(encoding, validation.integer("length", length, 1, LONGEST))
    return changed


def pinned_length(encoding: Encoding) -> int | None:
    """Length to which the scaling of an encoding is pinned.

    Args:
        encoding: An encoding.

    Returns:
        The number of positions; None where no scaling depends on a length.

    Raises:
        TypeError: `encoding` is no encoding.
    """
    validation.instance("encoding", encoding, Encoding, "an encoding")
    return min((scaling.length for scaling in _scalings(encoding)), default=None)


def _scalings(part: Any) -> Iterator[DynamicNTK | LongRoPE]:
    """Scalings in an encoding, and in those inside it, that depend on a length."""
    if isinstance(part, LENGTH_TRIGGERED):
        yield part
    elif is_dataclass(part):
        for field in fields(part):
            yield from _scalings(getattr(part, field.name))
    elif isinstance(part, tuple):
        for one in part:
            yield from _scalings(one)


def _with_length(part: Any, length: int) -> Any:
    """A part of an encoding with the length in each scaling that has one; the part itself where none has."""
    if isinstance(part, LENGTH_TRIGGERED):
        return replace(part, length=length)
    if isinstance(part, tuple):
        return tuple(_with_length(one, length) for one in part) if any(_scalings_in(part)) else part
    if not is_dataclass(part) or isinstance(part, type) or not any(_scalings_in(part)):
        return part
    changed = {field.name: _with_length(getattr(part, field.name), length) for field in fields(part) if field.init}
    return replace(part, **changed)


def _scalings_in(part: Any) -> Iterator[bool]:
    return (True for _ in _scalings(part))
