"""`posenc explain SENTENCE --versus SENTENCE`: the order of words, as self-attention sees it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

from posenc.catalog import CATALOG
from posenc.cli.answer import Answer, Heading, attributes, columns
from posenc.cli.inputs import encoding as encoding_of
from posenc.core.doors import Encoding
from posenc.core.text_lines import short
from posenc.encodings.adds.axial_learned import AxialLearned
from posenc.encodings.adds.nope import NoPE
from posenc.inspect import OrderBlindness, order_blindness
from posenc.inspect.order import usual_encodings
from posenc.inspect.words import words_of


class Compared(NamedTuple):
    """Comparison of two sentences under one encoding, without a mask (`free`) and with a causal one (`causal`)."""

    free: OrderBlindness
    causal: OrderBlindness


def explain_sentences(sentence: str, versus: str, encoding: str | None, every: bool, seed: int) -> Answer:
    """Compare two orders without an encoding, and with the one given, the usual ones, or each of the catalog."""
    longest = max(len(words_of(sentence)), len(words_of(versus)))
    pairs = [
        Compared(*(order_blindness(sentence, versus, one, causal=causal, seed=seed) for causal in (False, True)))
        for one in (None, *_encodings(encoding, every, longest))
    ]

    def facts() -> dict[str, Any]:
        return {"sentence": sentence, "other": versus, "results": [_facts(one) for pair in pairs for one in pair]}

    return Answer(facts, lambda: _lines(sentence, versus, pairs, every))


def _encodings(encoding: str | None, every: bool, longest: int) -> tuple[Encoding, ...]:
    if encoding is not None:
        return (encoding_of("encoding", encoding, "Compare with one of its layers."),)
    if every:
        return tuple(lengthened(row.samples[0], longest) for row in CATALOG if row.encoding is not NoPE)
    return usual_encodings(longest)


def _lines(sentence: str, versus: str, pairs: list[Compared], every: bool) -> Iterator[str]:
    yield Heading(f'"{sentence}" / "{versus}"')
    yield "How far the output of a word differs between the two orders, in one layer of self-attention."
    yield "0.0 is rounding."
    yield ""
    yield from _by_encoding(pairs) if every else _by_word(pairs)
    yield ""
    yield from _notes(pairs)


def _by_word(pairs: list[Compared]) -> Iterator[str]:
    """Table lines with one row for each word and one column for each encoding, then the encodings spelled out."""
    words = pairs[0].free.words
    headers = ("word", *(_column(pair.free) for pair in pairs))
    rows = [
        (f"{word.word} {word.here}→{word.there}", *(pair.free.words[index].shown for pair in pairs))
        for index, word in enumerate(words)
    ]
    largest = ("causal: largest", *(_largest(pair.causal) for pair in pairs))
    yield from columns(headers, [*rows, largest], numbers=range(1, len(headers)))
    yield ""
    yield from (f"{_column(pair.free)}: {short(pair.free.encoding)}" for pair in pairs if pair.free.encoding)


def _by_encoding(pairs: list[Compared]) -> Iterator[str]:
    """Table lines with one row for each encoding: words whose output changes with order, and the largest change."""
    headers = ("words", "largest", "causal", "encoding")
    rows = [
        (
            f"{sum(not word.same for word in free.words)}/{len(free.words)}",
            _largest(free),
            _largest(causal),
            _name(free),
        )
        for free, causal in pairs
    ]
    yield from columns(headers, rows, numbers=(0, 1, 2))
    yield ""
    yield "words: those whose output tells the order; causal: the largest difference behind a causal mask."


def _column(one: OrderBlindness) -> str:
    return "none" if one.encoding is None else type(one.encoding).__name__


def _notes(pairs: list[Compared]) -> list[str]:
    """Distinct remarks, each with its encodings; of the causal comparisons, only that without an encoding counts."""
    about: dict[str, list[str]] = {}
    for one in (*(pair.free for pair in pairs), pairs[0].causal):
        for note in _remarks(one):
            about.setdefault(note, []).append(f"{_column(one)}{', causal' if one.causal else ''}")
    return [note if len(names) >= len(pairs) else f"{', '.join(names)}: {note}" for note, names in about.items()]


def _remarks(one: OrderBlindness) -> list[str]:
    """Remarks of a comparison: its lines below the title, the header and the rows of words."""
    return one.lines()[2 + len(one.words) :]


def _name(one: OrderBlindness) -> str:
    return "no encoding" if one.encoding is None else short(one.encoding)


def _largest(one: OrderBlindness) -> str:
    return "0.0" if one.blind else f"{one.largest:.3g}"


def _facts(one: OrderBlindness) -> dict[str, Any]:
    facts = attributes(one, "encoding", "causal", "blind", "largest", "rounding", "words")
    return {**facts, "notes": _remarks(one)}


def lengthened(sample: Encoding, longest: int) -> Encoding:
    """Return a catalog sample with its tables, nested ones included, enlarged to at least `longest` positions."""
    stated = {field.name: getattr(sample, field.name) for field in fields(sample)}
    longer: dict[str, Any] = {}
    if stated.get("length", longest) < longest:
        longer = {"length": longest}
    elif sizes := stated.get("sizes"):  # a word stands at one number on every axis
        longer = {"sizes": tuple(max(size, longest) for size in sizes)}
    elif isinstance(inner := stated.get("encoding"), Encoding):
        longer = {"encoding": lengthened(inner, longest)}
    elif parts := stated.get("parts"):
        longer = {"parts": tuple(lengthened(part, longest) for part in parts)}
    elif isinstance(sample, AxialLearned) and sample.length < longest:
        longer = {"shape": (*sample.shape[:-1], -(-longest // math.prod(sample.shape[:-1])))}
    return replace(sample, **longer)
