"""Every encoding, a row each: what is listed here is exported, tested, documented, explained and drawn.

A row names the class, sample records in which every field matters, the paper, what the encoding is called elsewhere,
and when to use it. Tests, docs, the command line and the lab walk this list and nothing else.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from posenc.doors import Encoding
from posenc.rows.additive import ADDED
from posenc.rows.biases import BIASED
from posenc.rows.composed import COMPOSED
from posenc.rows.operators import OPERATED
from posenc.rows.rotations import ROTATED
from posenc.rows.row import Row
from posenc.rows.scalings import SCALED
from posenc.rows.scores import SCORED

CATALOG: tuple[Row, ...] = (*ADDED, *ROTATED, *OPERATED, *SCALED, *BIASED, *SCORED, *COMPOSED)


def row(name: str) -> Row:
    """The row of an encoding by its class name."""
    for candidate in CATALOG:
        if candidate.name == name:
            return candidate
    raise ValueError(f"name must be one of {', '.join(r.name for r in CATALOG)}; got {name!r}. Choose one of these.")


def row_of(record: Encoding) -> Row | None:
    """The row a record belongs to: of its class, and with the same kinds of records inside, where one has them."""
    rows = [candidate for candidate in CATALOG if candidate.encoding is type(record)]
    alike = [candidate for candidate in rows if any(_within(sample) == _within(record) for sample in candidate.samples)]
    return next(iter(alike + rows), None)


def _within(record: Encoding) -> list[type]:
    values = (getattr(record, field.name) for field in fields(record))
    return [type(value) for value in values if is_dataclass(value)]
