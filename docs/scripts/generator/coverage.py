"""docs/coverage.md: every item of the survey with its row, field or function, or why it is left out."""

from __future__ import annotations

import re

from generator.covered import ITEMS, PARTS, Item
from generator.text import WIDE, escaped, file_name, table
from posenc.catalog import CATALOG
from posenc.encodings.rotates.axial_layouts import LAYOUTS


def keys() -> list[str]:
    """The survey's items in its order: A1 … A15, B1 … B22 and so on."""
    return [f"{part}{number}" for part, (_, count) in PARTS.items() for number in range(1, count + 1)]


def counts() -> tuple[int, int]:
    """How many kinds of the survey posenc has, and how many there are."""
    return sum(bool(item.where) for item in ITEMS), len(keys())


def page() -> str:
    """The whole page."""
    items, (here, known) = {item.key: item for item in ITEMS}, counts()
    parts = [
        WIDE + "# Coverage",
        f"A survey of papers and code found {known} kinds of positional encoding, scaling and position. posenc "
        f"has {here} of them. Each line names the encoding, the field (`Class.field`) or the function, or says why "
        "posenc does not have it. A test looks up every name.",
    ]
    for part, (title, count) in PARTS.items():
        rows = (_cells(f"{part}{number}", items) for number in range(1, count + 1))
        parts.append(f"## {title}\n\n" + table(["", "encoding", "in posenc", ""], rows))
    return "\n\n".join([*parts, *_beyond()]) + "\n"


#: Coordinates of a position by the order of a layout.
COORDINATES = {
    "hw": "row, column",
    "wh": 'column, row: `grid(height, width, order="wh")`',
    "thw": "time, row, column",
    None: "four sums of distances from the corners",
}


def layouts() -> str:
    """Table of the names that `axial` accepts: the coordinates of their positions, and the models that use them."""
    rows = ((f'`"{name}"`', COORDINATES[kind.order], escaped(kind.used_by)) for name, kind in LAYOUTS.items())
    return table(["layout", "coordinates of a position", "used by"], rows)


def _beyond() -> list[str]:
    """The rows that no item names: first steps towards the sinusoidal encoding, and what the survey did not know."""
    named = {name.partition(".")[0] for item in ITEMS for name in item.where}
    rows = [(_link(row.name), escaped(row.use)) for row in CATALOG if row.name not in named]
    return ["## Beyond the survey\n\n" + table(["encoding", "when to use it"], rows)] if rows else []


def _cells(key: str, items: dict[str, Item]) -> tuple[str, str, str, str]:
    item = items.get(key, Item(key, "", (), "Not here yet."))
    return key, escaped(item.name), ", ".join(map(_link, item.where)) or "left out", escaped(item.note)


def _link(name: str) -> str:
    """A name in code, leading to its page where it has one; a layout of `axial` as the call that makes it."""
    if name.startswith("axial:"):
        layout = name.removeprefix("axial:")
        order = ' on `grid(…, order="wh")`' if LAYOUTS[layout].order == "wh" else ""
        return f'`axial("{layout}", …)`{order}'
    row = name.partition(".")[0]
    known = any(candidate.name == row for candidate in CATALOG)
    return f"[`{name}`](encodings/{file_name(row)}.md)" if known else f"`{re.sub(r'^posenc.', '', name)}`"
