"""`posenc explain RECORD`: the worked numbers of an encoding at a position, its spectrum, claims and paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from posenc.catalog import row_of
from posenc.cli.answer import Answer
from posenc.cli.show import Heading, attributes, headed
from posenc.core.doors import AdditiveEncoding, Encoding, RotaryEncoding
from posenc.inspect import Spectrum, spectrum
from posenc.learn import Worked, worked

#: Dimensions, and pairs of the spectrum, that are shown when none are chosen.
MOST = 16
#: Twice the widest of a released model: every pair's frequency is made exactly, which takes a while.
WIDEST = 1 << 15

Position = tuple[int | float, ...]


def explain_record(
    record: Encoding, position: Position, key: Position, dims: tuple[int, ...] | None, *, every: bool, seed: int
) -> Answer:
    """position, key: () for the default.   dims: None for the first few, or for all with `every`."""
    if _width(record) > WIDEST:
        raise ValueError(
            f"record must have at most {WIDEST:,} channels or heads to be explained; got {_width(record):,}. "
            "Explain a narrower one: the formula is the same."
        )
    shortened = dims is None and not every and _width(record) > MOST
    example = worked(
        record,
        _position(position or tuple(range(3, 3 + record.axes)), record),
        dims=tuple(range(MOST)) if shortened else dims,
        key=_position(key, record) if key else None,
        seed=seed,
    )

    def lines() -> Iterator[str]:
        yield from headed(example.lines())
        if shortened:
            yield f"  (the first {MOST}; --all shows every one, --dims 20 21 chosen ones)"
        yield from _spectrum_lines(_spectrum(record), every)
        yield from _fact_lines(record)

    return Answer(lambda: _facts(record, example), lines)


def _facts(record: Encoding, example: Worked) -> dict[str, Any]:
    row, frequencies = row_of(record), _spectrum(record)
    return {
        "record": record,
        "door": record.door,
        "claims": record.claims,
        "paper": row.paper if row else None,
        **attributes(example, "position", "formula", "steps", "notes"),
        "errata": [entry.line() for entry in example.errata],
        "spectrum": frequencies and attributes(frequencies, "exponents", "frequencies", "wavelengths", "ratio"),
    }


def _position(numbers: Position, record: Encoding) -> Any:
    """One number where the record has one axis and one is given; else all, which `worked` judges."""
    return numbers[0] if record.axes == 1 and len(numbers) == 1 else numbers


def _width(record: Encoding) -> int:
    """How many dimensions, or heads, there are."""
    if isinstance(record, AdditiveEncoding):
        return record.width
    return record.head_dim if isinstance(record, RotaryEncoding) else int(getattr(record, "heads", 1))


def _spectrum(record: Encoding) -> Spectrum | None:
    try:
        return spectrum(record)
    except TypeError:  # the record has no frequencies
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


def _fact_lines(record: Encoding) -> Iterator[str]:
    row = row_of(record)
    yield Heading("\nfacts")
    yield f"door    {record.door}"
    yield f"claims  {', '.join(sorted(record.claims)) or 'none'}"
    if row is not None:
        yield f"paper   {row.paper}"
        yield f"use     {row.use}"
