"""`posenc engines`: what every engine makes of a file, side by side, each run here in a process of its own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from posenc.cli.answer import Answer, Heading, Verb, columns
from posenc.cli.terminal import say
from posenc.core.text_lines import escaped
from posenc.engines import EngineTable, engine_table
from posenc.engines.side_by_side import EngineRow

#: What the marks of the table mean; lines below it say what differs, and why a cell is not known.
MARKS = "✓ as the file, ✗ otherwise, ? not known"


@dataclass(frozen=True)
class EnginesVerb(Verb):
    """Set side by side what engines make of the positions of a file.

    Each engine runs here on the CPU, in a process and an environment of its own: whole models by a probe checkpoint,
    others by their own functions for positions. The first call downloads what is missing, pinned by hashes, into a
    cache folder; answers are kept there too. torch is never downloaded: engines that need it use the one that is here.

    Exit code: 1 where an engine differs from the file, 0 where all agree in every field, 3 where some are not known.

    Some examples:
      posenc engines config.json
      posenc engines config.json --only mlx-lm llama.cpp
      posenc engines config.json --at vllm=0.33.0 --json
    """

    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="CONFIG")]
    """A config.json or its folder."""

    only: Annotated[tuple[str, ...], tyro.conf.arg(metavar="ENGINE")] = ()
    """Engines to ask; all if left out."""

    at: Annotated[tuple[str, ...], tyro.conf.arg(metavar="ENGINE=VERSION")] = ()
    """Versions in place of the pinned ones."""

    cache: Path | None = None
    """Folder of environments and answers; the platform's cache folder if left out."""

    def run(self) -> Answer:
        versions = _versions(self.at)
        stop = threading.Event()
        with engine_progress() as watch:
            try:
                table = engine_table(
                    self.file, engines=self.only or None, at=versions, cache=self.cache, stop=stop, watch=watch
                )
            finally:
                stop.set()
        return Answer(lambda: _facts(table), lambda: _lines(table), table.exit_code)


def _versions(texts: tuple[str, ...]) -> dict[str, str]:
    """Versions by engine, each named once."""
    versions: dict[str, str] = {}
    for name, version in map(_version, texts):
        if name in versions:
            raise ValueError(f"at must name an engine once; got {name!r:.60} twice. Leave one out.")
        versions[name] = version
    return versions


def _version(text: str) -> tuple[str, str]:
    name, sign, version = text.partition("=")
    if not sign or not name or not version:
        raise ValueError(f"at must be ENGINE=VERSION, vllm=0.33.0, say; got {text!r:.80}. Write it so.")
    return name, version


def _facts(table: EngineTable) -> dict[str, Any]:
    return {"verdict": table.verdict, "live_share": round(table.live_share, 3), **table.plain()}


def _lines(table: EngineTable) -> list[str]:
    headers = ("engine", "version", *table.fields)
    rows = [
        (row.engine, row.version.split(" on ")[0], *(_mark(row, name) for name in table.fields)) for row in table.rows
    ]
    kinds = {row.kind: [one.engine for one in table.rows if one.kind == row.kind] for row in table.rows}
    share = f"{table.live_share:.0%} of the cells are live: the engine's own process computed them here"
    return [
        Heading(table.verdict),
        *table.meant,
        "",
        *columns(headers, rows),
        "",
        MARKS,
        *(f"{kind}: {', '.join(names)}" for kind, names in kinds.items()),
        share,
        *table.remarks(),
        *table.unknown(),
    ]


def _mark(row: EngineRow, name: str) -> str:
    cell = row.cells[name]
    if cell.source == "not known":
        return "?"
    return ("✗" if cell.differs else "✓") + (" transcribed" if cell.source == "transcribed" else "")


@contextmanager
def engine_progress() -> Iterator[Callable[[str, str, int, int], None]]:
    """A bar for each engine: its downloads with the time left, then that it runs; lines where there is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    text = [TextColumn(f"{{task.{field}}}", markup=False) for field in ("description", "fields[amount]")]
    columns = (text[0], BarColumn(), text[1], TimeRemainingColumn())
    bars = Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    )
    tasks: dict[str, Any] = {}
    told: set[tuple[str, str]] = set()

    def watch(engine: str, event: str, done: int, size: int) -> None:
        if bars.disable:
            if (engine, event) not in told and event != "done":
                told.add((engine, event))
                of = f" ({size / 1e6:.0f} MB in all)" if size else ""
                say(escaped(f"{engine}: {'downloading ' if size else ''}{event}{of}"))
            return
        if engine not in tasks:
            tasks[engine] = bars.add_task(engine, total=None, amount="")
        words, amount = escaped(f"{engine}: {event}"[:60]), f"{done / 1e6:.0f}/{size / 1e6:.0f} MB" if size else ""
        bars.update(tasks[engine], description=words, total=size or None, completed=done, amount=amount)
        if event == "done" or event.startswith("failed"):
            bars.update(tasks[engine], total=1, completed=1)

    with bars:
        yield watch
