"""What engines make of a file: each in its own process, several at a time, with their answers kept."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from posenc.core import validation
from posenc.engines.ask_engine import EngineReading, ask_engine
from posenc.engines.cache_folder import keep_json, kept_json, short_digest
from posenc.engines.effect_on_logits import effects_on_logits
from posenc.engines.engine import Engine
from posenc.engines.engine_cells import Cell, live_cells, table_fields
from posenc.engines.engine_failure import EngineFailure
from posenc.engines.environments import environment_folder, environment_of
from posenc.engines.side_by_side import EngineRow, EngineTable, table_of
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.models.layer_sentences import in_words
from posenc.models.model_positions import LayerGroup, ModelPositions, layer_ranges
from posenc.probe import write_probe
from posenc.probe.config import text_config
from posenc.probe.rotation_reading import LayerRotation

#: Called with the engine, what happens to it, and the bytes done and in all of a download.
Watcher = Callable[[str, str, int, int], None]


class EngineQuestion(NamedTuple):
    """A file, and what every engine is asked about it."""

    name: str
    config: dict[str, Any]
    positions: ModelPositions
    cache: Path
    code: str


def read_question(config: Mapping[str, Any] | str | Path, cache: Path, code: str) -> EngineQuestion:
    """Read the file.

    Raises:
        ValueError: It is no config, or posenc does not read its positions.
    """
    name = "config" if isinstance(config, Mapping) else Path(config).name
    text = text_config(load_config(config))
    return EngineQuestion(name, text, from_config(text), cache, code)


def compare_engines(
    question: EngineQuestion,
    engines: Sequence[Engine],
    stop: threading.Event,
    watch: Watcher,
    workers: int | None = None,
) -> EngineTable:
    """Ask each engine, and set their answers side by side.

    Args:
        question: The file.
        engines: The engines.
        stop: Set to end all of them.
        watch: Told what happens.
        workers: Engines that run at once; as many as the machine has cores, four at most, if None.

    Raises:
        Stopped: `stop` was set.
    """
    probe = _probe_of(question)
    number = min(os.cpu_count() or 1, 4) if workers is None else validation.integer("workers", workers, 1, 64)
    with concurrent.futures.ThreadPoolExecutor(number) as pool:
        waiting = [pool.submit(_row, question, engine, probe, stop, watch) for engine in engines]
        try:
            rows = tuple(one.result() for one in waiting)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    fields = table_fields(question.positions)
    meant = tuple(_in_a_line(group) for group in question.positions.groups)
    return EngineTable(question.name, question.positions.model_type, fields, meant, rows)


def _in_a_line(group: LayerGroup) -> str:
    return f"{layer_ranges(group.layers)}: {'; '.join(in_words(group))}"


def _probe_of(question: EngineQuestion) -> Path | EngineFailure:
    """Folder of the file's probe, written once; or why none can be."""
    folder = question.cache / "probes" / short_digest(question.config, question.code)
    if (folder / "probe.json").is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    for gguf in (True, False):
        try:
            return write_probe(question.config, folder, gguf=gguf)
        except ImportError as error:
            return EngineFailure("writing the probe", f"{error.name} is not installed here; pip install {error.name}")
        except ValueError as error:
            if (folder / "probe.json").is_file():  # another process was faster
                return folder
            reason = str(error)
            if not gguf or not reason.startswith("gguf"):
                return EngineFailure("writing the probe", reason, expected=True)
    raise RuntimeError("a probe is written with or without GGUF")


def _row(
    question: EngineQuestion, engine: Engine, probe: Path | EngineFailure, stop: threading.Event, watch: Watcher
) -> EngineRow:
    """The row of an engine, kept or asked for; a failure is a row too."""
    began = time.monotonic()
    try:
        if isinstance(probe, EngineFailure):
            raise probe
        _require_taken(engine, question, probe)
        kept = (
            question.cache
            / "answers"
            / f"{engine.name}-{short_digest(probe.name, _identity(engine, question.cache))}.json"
        )
        row = _kept_row(kept)
        if row is None:
            environment = environment_of(
                engine, question.cache, stop, lambda package, done, size: watch(engine.name, package, done, size)
            )
            watch(engine.name, "running", 0, 0)
            reading = ask_engine(engine, environment, probe, stop)
            row = _answered(question, engine, environment.files, reading, time.monotonic() - began)
            with contextlib.suppress(OSError):  # an answer that cannot be kept is an answer
                keep_json(kept, {"rows": [asdict(row)]})
        watch(engine.name, "done", 0, 0)
        return row
    except EngineFailure as failure:
        watch(engine.name, f"failed: {failure}", 0, 0)
        cells: dict[str, Cell] = {name: Cell("not known", str(failure)) for name in table_fields(question.positions)}
        return EngineRow(
            engine.name, engine.version, engine.kind, cells, failure="" if failure.expected else str(failure)
        )


def _identity(engine: Engine, cache: Path) -> list[str]:
    """What an engine's answer depends on besides the probe."""
    return [environment_folder(engine, cache).name, engine.script.read_text(encoding="utf-8")]


def _kept_row(path: Path) -> EngineRow | None:
    held = kept_json(path)
    try:
        return table_of({"file": "", "model_type": "", "fields": [], "meant": [], **held}).rows[0] if held else None
    except (KeyError, TypeError, IndexError):
        return None


def _require_taken(engine: Engine, question: EngineQuestion, probe: Path) -> None:
    """Refuse what an engine is known not to take."""
    name = question.positions.model_type
    if engine.model_types and name not in engine.model_types:
        raise EngineFailure("choosing its code", f"none for {name} that can be called by itself", expected=True)
    if engine.gguf and not (probe / "model.gguf").is_file():
        raise EngineFailure("writing the probe", f"no GGUF file is written for {name} yet", expected=True)


def _answered(
    question: EngineQuestion, engine: Engine, files: Mapping[str, str], reading: EngineReading, seconds: float
) -> EngineRow:
    cells: dict[str, Cell] = {str(name): cell for name, cell in live_cells(reading, question.positions).items()}
    row = EngineRow(
        engine.name, reading.version or engine.version, engine.kind, cells, dict(files),
        notes=(*reading.notes, *reading.diagnosis.notes), seconds=round(seconds, 1),
    )  # fmt: skip
    return replace(row, effects=_effects(question, reading)) if row.differs else row


def _effects(question: EngineQuestion, reading: EngineReading) -> dict[int, float]:
    """The largest change of any layer, at the lengths that matter: near, trained, and the longest that is claimed."""
    changes: dict[int, float] = {}
    for layer in reading.layers:
        if isinstance(layer, LayerRotation):
            group = question.positions.at(layer.layer)[0]
            for length, change in effects_on_logits(group, layer, lengths_of(question.config)).items():
                changes[length] = max(changes.get(length, 0.0), change)
    return changes


def lengths_of(config: Mapping[str, Any]) -> tuple[int, ...]:
    """Return lengths at which a difference matters: 512, that of the training where it is stated, and the longest.

    Example:
        >>> lengths_of({"max_position_embeddings": 8192})
        (512, 8192)
    """
    scaling = [value for key in ("rope_scaling", "rope_parameters") if isinstance(value := config.get(key), Mapping)]
    trained = [one.get("original_max_position_embeddings") for one in (*scaling, config)]
    stated = [*trained, config.get("max_position_embeddings")]
    return tuple(sorted({512, *(int(one) for one in stated if isinstance(one, int | float) and 512 < one < 1 << 24)}))
