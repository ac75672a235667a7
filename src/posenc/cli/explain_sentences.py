"""`posenc explain SENTENCE --versus SENTENCE`: what self-attention can tell of the order of words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

from posenc import parse
from posenc.catalog import CATALOG
from posenc.cli.answer import Answer
from posenc.cli.show import Heading, columns
from posenc.doors import Encoding
from posenc.encodings.adds.axial_learned import AxialLearned
from posenc.encodings.adds.nope import NoPE
from posenc.inspect import OrderBlindness, order_blindness
from posenc.inspect._text import short


class Compared(NamedTuple):
    """One encoding, without a mask and with a causal one."""

    free: OrderBlindness
    causal: OrderBlindness


def explain_sentences(sentence: str, versus: str, encoding: str | None, seed: int) -> Answer:
    """Without an encoding, and with the one given or a sample of each in the catalog."""
    longest = max(len(sentence.split()), len(versus.split()))
    samples = [row.samples[0] for row in CATALOG if row.encoding is not NoPE]
    records = [lengthened(sample, longest) for sample in samples] if encoding is None else [parse.record(encoding)]
    pairs = [
        Compared(*(order_blindness(sentence, versus, record, causal=causal, seed=seed) for causal in (False, True)))
        for record in (None, *records)
    ]

    def facts() -> dict[str, Any]:
        return {"sentence": sentence, "other": versus, "results": [_facts(one) for pair in pairs for one in pair]}

    return Answer(facts, lambda: _lines(sentence, versus, pairs))


def _lines(sentence: str, versus: str, pairs: list[Compared]) -> Iterator[str]:
    yield Heading(f'"{sentence}" / "{versus}"')
    yield (
        "How far the output of a word differs between the two orders, in one layer of self-attention (0.0 is rounding):"
    )
    yield ""
    words = [f"{word.word} {word.here}→{word.there}" for word in pairs[0].free.words]
    headers = ("encoding", *words, "causal: largest")
    rows = [(_name(free), *(word.shown for word in free.words), _largest(causal)) for free, causal in pairs]
    yield from columns(headers, rows, numbers=range(1, len(headers)))
    yield ""
    yield from _notes(pairs)


def _notes(pairs: list[Compared]) -> list[str]:
    """Every remark once, with the encodings that it is about; with a causal mask only that of no encoding."""
    about: dict[str, list[str]] = {}
    for one in (*(pair.free for pair in pairs), pairs[0].causal):
        for note in _remarks(one):
            about.setdefault(note, []).append(f"{_name(one)}{', causal' if one.causal else ''}")
    return [note if len(names) >= len(pairs) else f"{'; '.join(names)}: {note}" for note, names in about.items()]


def _remarks(one: OrderBlindness) -> list[str]:
    """What stands below the title, the header and the words."""
    return one.lines()[2 + len(one.words) :]


def _name(one: OrderBlindness) -> str:
    return "no encoding" if one.encoding is None else short(one.encoding)


def _largest(one: OrderBlindness) -> str:
    return "0.0" if one.blind else f"{one.largest:.3g}"


def _facts(one: OrderBlindness) -> dict[str, Any]:
    names = ("encoding", "causal", "blind", "largest", "rounding", "words")
    return {name: getattr(one, name) for name in names} | {"notes": _remarks(one)}


def lengthened(sample: Encoding, longest: int) -> Encoding:
    """A sample of the catalog, its table, or those of the records in it, lengthened where the sentence needs it."""
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
