"""Which tests may kill a mutant, the most telling first, by what each test ran in an earlier measured run."""

from __future__ import annotations

import ast
import contextlib
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import zip_longest
from pathlib import Path

from mutant_candidates import Mutant

#: Every line of a file.
WHOLE = range(1, 10**5)

#: coverage.py documents its tables: https://coverage.readthedocs.io/en/latest/dbschema.html
LINES_OF_FILE = """SELECT DISTINCT context, tono FROM arc JOIN context ON context.id = context_id
    JOIN file ON file.id = file_id WHERE path = ? AND tono > 0"""

#: Which lines of a file each test ran, as bits: line 1 is bit 1.
Lines = dict[str, int]


@dataclass(frozen=True)
class Tests:
    """Tests by the lines they run.

    tree: the checkout that was measured.   data: coverage.py's files, with the tests as contexts.
    outcomes: what came of each test and how long it took.
    """

    tree: Path
    data: tuple[Path, ...]
    outcomes: tuple[Path, ...]

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Of every test that passed."""
        every = [entry for path in self.outcomes for entry in json.loads(path.read_text()).items()]
        return {test: seconds for test, (outcome, seconds) in every if outcome == "passed"}

    def of(self, mutant: Mutant) -> list[str]:
        """Tests that run the line; then those of its statement, function and file, and of files that import it.

        Among them those come first that are named after a text of the line, as cases are after a type of model.
        """
        path = self.tree / mutant.file
        text = path.read_text(encoding="utf-8")
        chosen: dict[str, None] = {}
        for lines in [range(mutant.line, mutant.line + 1), *spans(ast.parse(text), mutant.line), WHOLE]:
            chosen.update(dict.fromkeys(self.running(path, lines)))
        importing = importers(self.tree / "src", path)
        while importing:
            chosen.update(dict.fromkeys(test for other in importing for test in self.running(other, WHOLE)))
            # What runs when it is imported, a table, say, no test runs: whoever reads it is further off.
            importing = [] if chosen else [far for near in importing for far in importers(self.tree / "src", near)]
        words = re.findall(r"[\"'](\w{4,})[\"']", text.splitlines()[mutant.line - 1])
        return sorted(chosen, key=lambda test: not any(word in test for word in words))

    def running(self, path: Path, lines: range) -> list[str]:
        """Tests that run any of these lines: the quickest of each function; then of each case and way through the
        file."""
        asked = (1 << lines.stop) - (1 << lines.start)
        ran = {test: bits for test, bits in lines_of(self.data, path).items() if bits & asked and test in self.seconds}
        functions: dict[str, dict[tuple[str, int], list[str]]] = {}
        for test in sorted(ran, key=lambda test: (self.seconds[test], test)):
            function, _, case = test.partition("[")
            functions.setdefault(function, {}).setdefault((case.rpartition("-")[2], ran[test]), []).append(test)
        return list(in_turn(list(in_turn(ways.values())) for ways in functions.values()))


@cache
def lines_of(data: tuple[Path, ...], path: Path) -> Lines:
    """The lines of this file that each test ran."""
    lines: Lines = {}
    for measured in data:
        with contextlib.closing(sqlite3.connect(measured)) as database:
            for context, line in database.execute(LINES_OF_FILE, (str(path),)):
                test = context.rpartition("|")[0]  # then setup, run or teardown
                lines[test] = lines.get(test, 0) | 1 << line
    return lines


def in_turn(lists: Iterable[list[str]]) -> Iterator[str]:
    """The first of each, then the second of each, and so on."""
    for row in zip_longest(*lists):
        yield from (one for one in row if one is not None)


def spans(tree: ast.Module, line: int) -> list[range]:
    """The lines of the statements around this one, the innermost first; of a class or function the body alone."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (end := node.end_lineno or node.lineno):
            begin = node.body[0].lineno if isinstance(node, ast.FunctionDef | ast.ClassDef) else node.lineno
            found.append(range(begin, end + 1))
    return sorted(found, key=len)


def importers(source: Path, path: Path) -> list[Path]:
    """The files below `source` that import this one, or from it."""
    module = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
    return [other for other in sorted(source.rglob("*.py")) if module in imported(other)]


@cache
def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names
