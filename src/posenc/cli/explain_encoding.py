"""`posenc explain ENCODING`: the worked numbers of an encoding, its spectrum and claims, or a table of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from posenc.catalog import row_of
from posenc.cli.answer import Answer, Heading, attributes, headed
from posenc.core.doors import AdditiveEncoding, Encoding, RotaryEncoding
from posenc.core.text_lines import short
from posenc.inspect import Spectrum, position_table, product_derivation, spectrum
from posenc.inspect.encoding_facts import drawn_params, width_of
from posenc.learn import Worked, errata, worked
from posenc.learn.worked_examples.added_score import added_score

#: Dimensions, and pairs of the spectrum, that are shown when none are chosen.
MOST = 16
#: Twice the widest of a released model: every pair's frequency is made exactly, which takes a while.
WIDEST = 1 << 15

#: The terms of a score, as they are named in facts.
SCORE_TERMS = ("content_content", "content_position", "position_content", "position_position")

Position = tuple[int | float, ...]


def explain_encoding(
    encoding: Encoding, position: Position, key: Position, dims: tuple[int, ...] | None, *, every: bool, seed: int
) -> Answer:
    """Work out an encoding at a position.

    `position` and `key` are () for the default; `dims` is None for the first few, or for all with `every`.
    """
    if width_of(encoding) > WIDEST:
        raise ValueError(
            f"encoding must have at most {WIDEST:,} channels or heads to be explained; got {width_of(encoding):,}. "
            "Explain a narrower one: the formula is the same."
        )
    shortened = dims is None and not every and width_of(encoding) > MOST
    example = worked(
        encoding,
        _position(position or tuple(range(3, 3 + encoding.axes)), encoding),
        dims=tuple(range(MOST)) if shortened else dims,
        key=_position(key, encoding) if key else None,
        seed=seed,
    )

    def lines() -> Iterator[str]:
        yield from headed(example.lines())
        if shortened:
            yield f"  (the first {MOST}; --all shows every one, --dims 20 21 chosen ones)"
        yield from _spectrum_lines(_spectrum(encoding), every)
        yield from _fact_lines(encoding)

    return Answer(lambda: _facts(encoding, example), lines)


def explain_product(
    encoding: Encoding,
    position: Position,
    key: Position,
    query_vector: tuple[float, ...],
    key_vector: tuple[float, ...],
) -> Answer:
    """Derive the score of a query at `position` (3 if empty) and a key at `key` (0 if empty), rotated or added to."""
    for name, vector in (("query_vector", query_vector), ("key_vector", key_vector)):
        if not vector:
            raise ValueError(f"{name} must come with the other vector; got one vector alone. Give both.")
    if not isinstance(encoding, RotaryEncoding | AdditiveEncoding):
        raise ValueError(
            f"query_vector must come with an encoding that rotates or adds; got {short(encoding)}. Leave it out."
        )
    for name, numbers in (("position", position), ("key", key)):
        if len(numbers) > 1:
            raise ValueError(f"{name} must be one number for a product; got {len(numbers)}. Give one.")
    m, n = (position or (3,))[0], (key or (0,))[0]
    if isinstance(encoding, AdditiveEncoding):
        score = added_score(encoding, query_vector, key_vector, position=m, key=n)
        facts = attributes(score, "encoding", "position", "key", "vectors") | {
            name: float(getattr(score.terms, name).item()) for name in (*SCORE_TERMS, "total")
        }
        return Answer(lambda: facts, lambda: headed(score.lines()))
    found = product_derivation(encoding, list(query_vector), list(key_vector), position=m, key=n)
    names = ("encoding", "position", "key", "rotated_query", "rotated_key", "product", "shares", "steps")
    return Answer(lambda: attributes(found, *names), lambda: headed(found.lines()))


def _facts(encoding: Encoding, example: Worked) -> dict[str, Any]:
    row, frequencies = row_of(encoding), _spectrum(encoding)
    return {
        "encoding": encoding,
        "door": encoding.door,
        "claims": encoding.claims,
        "paper": row.paper if row else None,
        **attributes(example, "position", "formula", "steps", "notes"),
        "errata": [entry.line() for entry in example.errata],
        "spectrum": frequencies and attributes(frequencies, "exponents", "frequencies", "wavelengths", "ratio"),
    }


def _position(numbers: Position, encoding: Encoding) -> Any:
    """The position as one number for an encoding of one axis, else as the tuple given; `worked` checks the count."""
    return numbers[0] if encoding.axes == 1 and len(numbers) == 1 else numbers


def _spectrum(encoding: Encoding) -> Spectrum | None:
    try:
        return spectrum(encoding)
    except TypeError:  # the encoding has no frequencies
        return None


def _spectrum_lines(frequencies: Spectrum | None, every: bool) -> Iterator[str]:
    if frequencies is None:
        return
    yield Heading("\nspectrum")
    _, *lines = frequencies.lines()
    left_out = 0 if every else max(len(frequencies.frequencies) - MOST, 0)
    yield from lines[: 1 + MOST // 2] if left_out else lines
    if left_out:
        yield f"  ... {left_out} more ..."
        yield from lines[1 + MOST // 2 + left_out :]


def _fact_lines(encoding: Encoding) -> Iterator[str]:
    row = row_of(encoding)
    yield Heading("\nfacts")
    yield f"door    {encoding.door}"
    yield f"claims  {', '.join(sorted(encoding.claims)) or 'none'}"
    if row is not None:
        yield f"paper   {row.paper}"
        yield f"use     {row.use}"


def explain_table(encoding: AdditiveEncoding, positions: tuple[int | float, ...], seed: int) -> Answer:
    """Show the encoding at each position, a row each; what it learns is drawn from the seed."""
    table = position_table(encoding, list(positions), params=drawn_params(encoding, seed=seed))
    corrections = [entry.line() for position in dict.fromkeys(positions) for entry in errata(encoding, position)]
    facts = {"encoding": encoding, **attributes(table, "positions", "rows"), "errata": corrections}
    return Answer(lambda: facts, lambda: headed([*table.lines(), *corrections]))
