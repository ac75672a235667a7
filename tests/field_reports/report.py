"""What a field report is: a mistake or a harmless difference that people met, with the evidence that they had."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The forms of evidence.
CONFIGS = "config against config"
FOLDERS = "folder against folder"
CHECKPOINT = "checkpoint against config"
GGUF = "GGUF against config"
TABLE = "dump of cos and sin"
VECTORS = "dump of q and k"
LOGITS = "dump of logits"
BIAS = "dump of a bias"
LIVE = "live model"
POSITION_TABLE = "table of positions"
FORMS = (CONFIGS, FOLDERS, CHECKPOINT, GGUF, TABLE, VECTORS, LOGITS, BIAS, LIVE, POSITION_TABLE)


@dataclass(frozen=True)
class Evidence:
    """The two sides as their user gives them. What can be typed goes to the command line, the rest to the function.

    expected: a config, the path of its file or folder, or an encoding as text.
    actual: what runs: a config, a path, arrays or a live module.
    layer, part, layout: the options that the user adds.   tokens: input for a live model, where it must be run.
    """

    expected: Any
    actual: Any
    layer: int | None = None
    part: str | None = None
    layout: str | None = None
    tokens: Any = None

    @property
    def can_be_typed(self) -> bool:
        return isinstance(self.expected, str | Path) and isinstance(self.actual, str | Path)


Build = Callable[[Path], Evidence]


@dataclass(frozen=True)
class Report:
    """One case. `build` writes its files into a folder and returns the two sides.

    names: a set of words for each mistake, of which its finding must use one. A harmless difference has none: nothing
    may be flagged.
    """

    name: str
    form: str
    theme: str
    threads: tuple[str, ...]
    story: str
    names: tuple[frozenset[str], ...]
    build: Build

    @property
    def is_harmless(self) -> bool:
        return not self.names


def mistake(form: str, theme: str, *threads: str, names: set[str] | list[set[str]]) -> Callable[[Build], Report]:
    """Makes a report of a function that builds the evidence of a mistake; its docstring says what went wrong."""
    sets = [names] if isinstance(names, set) else names
    return lambda build: _report(build, form, theme, threads, sets)


def harmless(form: str, theme: str, *threads: str) -> Callable[[Build], Report]:
    """Makes a report of a function that builds a difference which changes nothing; its docstring says why."""
    return lambda build: _report(build, form, theme, threads, ())


def _report(build: Build, form: str, theme: str, threads: tuple[str, ...], names: Iterable[set[str]]) -> Report:
    story = " ".join((build.__doc__ or "").split())
    if form not in FORMS or not threads or not story:
        raise ValueError(f"{build.__name__} must have a known form, a thread and a docstring; got {form!r}, {threads}.")
    return Report(build.__name__, form, theme, threads, story, tuple(frozenset(words) for words in names), build)


def reports_of(module: Any) -> tuple[Report, ...]:
    """The reports of a module, in order."""
    return tuple(value for value in vars(module).values() if isinstance(value, Report))
