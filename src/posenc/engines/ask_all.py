"""Public entry point: a file and engine names in, a table out; a table in the cache is read without other imports."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posenc.core import plain_file, validation
from posenc.engines.cache_folder import cache_folder, keep_json, kept_json, short_digest, source_digest
from posenc.engines.engine import Engine, named, version_of
from posenc.engines.environments import environment_folder
from posenc.engines.known_engines import known_engines
from posenc.engines.side_by_side import EngineTable, table_of

if TYPE_CHECKING:
    from posenc.engines.compare_engines import Watcher

#: Rooms whose code decides what a probe asks, and what a table says.
PROBE_ROOMS = ("core", "compose", "encodings", "frequencies", "models", "phase", "probe")
ROOMS = (*PROBE_ROOMS, "diagnosis", "engines")
LARGEST_CONFIG = 1 << 24


def engine_names() -> tuple[str, ...]:
    """Return the names of all engines.

    Returns:
        Names, whole models first.

    Example:
        >>> engine_names()[:3]
        ('transformers', 'transformers-4', 'mlx-lm')
    """
    return tuple(engine.name for engine in known_engines())


def engine_table(
    config: Mapping[str, Any] | str | Path,
    *,
    engines: Sequence[str] | None = None,
    at: Mapping[str, str] | None = None,
    cache: str | Path | None = None,
    stop: threading.Event | None = None,
    watch: Watcher | None = None,
) -> EngineTable:
    """Set what engines make of a model's positions side by side, each run in its own process here.

    Environments that are missing are made first, which downloads packages. Answers are kept: the same file with the
    same versions is answered at once.

    Args:
        config: A dict, a config.json or its folder.
        engines: Names of engines, as `engine_names` lists them; all if None.
        at: Versions by name, in place of the pinned ones; their hashes are recorded, and not compared with pins.
        cache: Folder of environments and answers; the platform's cache folder if None.
        stop: Set by another thread to end everything.
        watch: Called with an engine, what happens to it, and the bytes done and in all of a download.

    Returns:
        The table. An engine that fails has a row that says at which step, and all others are filled.

    Raises:
        ValueError: `engines` is empty, a name or a version is unknown, or posenc does not read the config.
        TypeError: An argument has the wrong type.
        OSError: The config cannot be read.
    """
    content = _content(config)  # first, since all that follows reads files
    at = {} if at is None else validation.instance("at", at, Mapping, "a dict of versions by name")
    chosen = chosen_engines(engines, at)
    folder = cache_folder(None if cache is None else validation.path("cache", cache))
    stop = threading.Event() if stop is None else validation.instance("stop", stop, threading.Event, "an Event")
    watch = (lambda *_: None) if watch is None else validation.function("watch", watch)
    kept = _kept_table(content, chosen, folder)
    held = kept_json(kept)
    if held is not None:
        with contextlib.suppress(KeyError, TypeError):
            return table_of(held)
    from posenc.engines.compare_engines import compare_engines
    from posenc.engines.engine_question import read_question

    question = read_question(config, folder, source_digest(PROBE_ROOMS))
    table = compare_engines(question, chosen, stop, watch)
    if not any(row.failure for row in table.rows):
        with contextlib.suppress(OSError):
            keep_json(kept, table.plain())
    return table


def chosen_engines(names: Sequence[str] | None, at: Mapping[str, str]) -> tuple[Engine, ...]:
    """Return the engines of these names, at these versions.

    Raises:
        ValueError: No name is given or one is unknown, or a version is of an engine that was not chosen.
    """
    every = known_engines()
    if names is not None and not validation.texts("engines", names):
        raise ValueError(f"engines must name one; got {validation.shown(names)}. Leave it out for every engine.")
    chosen = every if names is None else tuple(named(every, name) for name in dict.fromkeys(names))
    for name in at:
        validation.choice("at", name, tuple(engine.name for engine in chosen))
    return tuple(engine.at(at[engine.name]) if engine.name in at else engine for engine in chosen)


def _kept_table(content: object, chosen: Sequence[Engine], folder: Path) -> Path:
    """Cache path of a table: its name hashes the config, the engines, what these run on, and posenc's own code."""
    environments = [environment_folder(engine, folder).name for engine in chosen]
    runs_on = {name: version_of(name) for name in {name for engine in chosen for name in engine.requires}}
    return folder / "tables" / f"{short_digest(content, source_digest(ROOMS), environments, runs_on)}.json"


def _content(config: Mapping[str, Any] | str | Path) -> object:
    """Cache key of the config: its content, and for a path also the file or folder name that the table shows."""
    if isinstance(config, Mapping):
        if plain_file.is_too_deep(config):
            raise ValueError(f"config must be a model's; got one whose {plain_file.TOO_DEEP}. Give its config.json.")
        return dict(config)
    named = validation.path("config", config)
    path = named / "config.json" if named.is_dir() else named
    return [named.name, plain_file.read_bytes(path, LARGEST_CONFIG, name="config").decode("latin-1")]
