"""The table: what every engine makes of one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from posenc.core import text_lines
from posenc.engines.cell import Cell

SCHEMA, VERSION = "posenc.engines", 1


@dataclass(frozen=True)
class EngineRow:
    """Row of the table: how one engine reads the file.

    Attributes:
        engine: Its name.
        version: As its process reported it; the one that was asked for where none ran.
        kind: "whole model", or "functions" where its functions for positions were called.
        cells: One for each field.
        files: SHA-256 of what is installed, by the name of the file.
        failure: The step that failed and why; "" where nothing did.
        notes: What the reading says besides.
        effects: How far logits move, by length in tokens; empty where nothing differs.
        reports: Public threads that reported such a difference.
        write: What to write in the file so that this engine agrees; "" where nothing differs or helps.
    """

    engine: str
    version: str
    kind: str
    cells: dict[str, Cell]
    files: dict[str, str] = field(default_factory=dict)
    failure: str = ""
    notes: tuple[str, ...] = ()
    effects: dict[int, float] = field(default_factory=dict)
    reports: tuple[str, ...] = ()
    write: str = ""

    @property
    def differs(self) -> bool:
        """Whether any field differs from what the file states."""
        return any(cell.differs for cell in self.cells.values())


@dataclass(frozen=True)
class EngineTable(text_lines.Lines):
    """Table of how engines read a file, field by field.

    Attributes:
        file: Its name.
        model_type: As it states it.
        fields: Columns of the table.
        meant: What posenc reads in the file, a line for each group of layers.
        rows: One for each engine.
    """

    file: str
    model_type: str
    fields: tuple[str, ...]
    meant: tuple[str, ...]
    rows: tuple[EngineRow, ...]

    @property
    def differing(self) -> tuple[EngineRow, ...]:
        """Rows of engines that differ from the file in some field."""
        return tuple(row for row in self.rows if row.differs)

    @property
    def live_share(self) -> float:
        """Share of the cells that are live."""
        cells = [cell for row in self.rows for cell in row.cells.values()]
        return sum(cell.source == "live" for cell in cells) / max(len(cells), 1)

    @property
    def exit_code(self) -> int:
        """1 where an engine differs from the file, 0 where every cell agrees, 3 where some are not known."""
        if self.differing:
            return 1
        known = [cell.source != "not known" for row in self.rows for cell in row.cells.values()]
        return 0 if known and all(known) else 3

    @property
    def verdict(self) -> str:
        """Result in words."""
        names = ", ".join(row.engine for row in self.differing)
        if names:
            return f"differ from the file: {names}"
        answered = any(cell.source != "not known" for row in self.rows for cell in row.cells.values())
        return "every engine that answered does as the file says" if answered else "no engine answered"

    def lines(self) -> list[str]:
        """Return the lines that are printed: the verdict, what the file states, a line for each engine, and remarks."""
        rows = [f"{row.engine} {row.version} ({row.kind}): {_in_a_line(row)}" for row in self.rows]
        return [self.verdict, *self.meant, *rows, *self.remarks()]

    def remarks(self) -> list[str]:
        """Return a few lines on each difference, then a line for each engine that failed.

        Returns:
            Lines of text.
        """
        differing = [line for row in self.differing for line in _difference_lines(row)]
        return [*differing, *(f"{row.engine}: {row.failure}" for row in self.rows if row.failure)]

    def unknown(self) -> list[str]:
        """Return the reasons why cells are not known, without repeats, each with its engines and fields.

        Returns:
            Lines of text; engines that failed are not among them, since `remarks` names these.
        """
        found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
        for row in self.rows:
            for name, cell in row.cells.items():
                if cell.source == "not known" and not row.failure.endswith(cell.value):
                    engines, fields = found.setdefault(cell.value, ({}, {}))
                    engines[row.engine], fields[name] = None, None
        return [f"not known, {', '.join(fields)}, {', '.join(of)}: {why}" for why, (of, fields) in found.items()]

    def plain(self) -> dict[str, Any]:
        """Return the table as plain values for JSON.

        Returns:
            Plain values, with a schema and its version.
        """
        return {"schema": SCHEMA, "version": VERSION, **asdict(self)}


def table_of(held: Mapping[str, Any]) -> EngineTable:
    """Rebuild a table from the values that `EngineTable.plain` gave, as read back from JSON.

    Raises:
        KeyError: A field is missing.
        TypeError: A field is of another type.
    """
    rows = tuple(
        EngineRow(
            **{
                **row,
                "cells": {name: Cell(**row["cells"][name]) for name in held["fields"]},
                "notes": tuple(row["notes"]),
                "reports": tuple(row["reports"]),
                "effects": {int(length): change for length, change in row["effects"].items()},
            }
        )
        for row in held["rows"]
    )
    return EngineTable(held["file"], held["model_type"], tuple(held["fields"]), tuple(held["meant"]), rows)


def _in_a_line(row: EngineRow) -> str:
    if row.failure:
        return row.failure
    return "; ".join(
        f"{name} {'DIFFERS: ' if cell.differs else ''}{cell.value} [{cell.source}]" for name, cell in row.cells.items()
    )


def _difference_lines(row: EngineRow) -> list[str]:
    found = [f"{row.engine}, {name}: {cell.value}" for name, cell in row.cells.items() if cell.differs]
    sizes = ", ".join(f"{change:.2g} up to {length:,}" for length, change in row.effects.items())
    size = (
        [f"  logits move by {sizes} tokens apart (standard deviation; that of the logits is about 1)"] if sizes else []
    )
    reports = [f"  reported: {report}" for report in row.reports]
    return [*found, *size, *reports, *([f"  to write: {row.write}"] if row.write else [])]
