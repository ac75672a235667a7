"""What engines make of a file: each in its own process, several at a time, with their answers kept."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from posenc.core import validation
from posenc.engines.ask_engine import EngineReading, ask_engine, reading_of
from posenc.engines.cache_folder import short_digest
from posenc.engines.effect_on_logits import effects_on_logits
from posenc.engines.engine import Engine
from posenc.engines.engine_cells import Cell, live_cells, table_fields
from posenc.engines.engine_failure import EngineFailure
from posenc.engines.environments import Environment, environment_folder, environment_of
from posenc.engines.reports import reports_of
from posenc.engines.side_by_side import EngineRow, EngineTable
from posenc.engines.spellings import other_spellings
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.models.layer_sentences import in_words
from posenc.models.model_positions import LayerGroup, ModelPositions, layer_ranges
from posenc.probe import write_probe
from posenc.probe.config import text_config
from posenc.probe.rotation_reading import LayerRotation

#: The longest distance that a probe asks for: angles are read to about 1e-6, and frequencies to 2e-8 of a radian.
LENGTH = 64
#: Called with the engine, what happens to it, and the bytes done and in all of a download.
Watcher = Callable[[str, str, int, int], None]


class EngineQuestion(NamedTuple):
    """A file, and what every engine is asked about it."""

    name: str
    config: dict[str, Any]
    positions: ModelPositions
    cache: Path
    code: str


class KeptAnswer(NamedTuple):
    """Probe of a question, and where an engine's answer to it is kept."""

    probe: Path
    path: Path


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
    *,
    spell: bool = True,
) -> EngineTable:
    """Ask each engine, and set their answers side by side.

    Args:
        question: The file.
        engines: The engines.
        stop: Set to end all of them.
        watch: Told what happens.
        workers: Engines that run at once; as many as the machine has cores, four at most, if None.
        spell: Whether other spellings of the file are tried with engines that differ.

    Raises:
        Stopped: `stop` was set.
    """
    probe = written_probe(question)
    number = min(os.cpu_count() or 1, 4) if workers is None else validation.integer("workers", workers, 1, 64)
    with concurrent.futures.ThreadPoolExecutor(number) as pool:
        waiting = [pool.submit(_row, question, engine, probe, stop, watch, spell) for engine in engines]
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


def written_probe(question: EngineQuestion) -> Path | EngineFailure:
    """Folder of the file's probe, written once; or why none can be."""
    folder = question.cache / "probes" / short_digest(question.config, question.code, LENGTH)
    if (folder / "probe.json").is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f".{folder.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        _write_probe(question.config, part)
        with contextlib.suppress(OSError):  # another thread or process was faster
            part.rename(folder)
    except EngineFailure as failure:
        return failure
    except OSError as error:
        return EngineFailure("writing the probe", f"{error.strerror}: {error.filename}")
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def _write_probe(config: Mapping[str, Any], folder: Path) -> None:
    """Write the probe, with its GGUF file where one is known for the architecture."""
    for gguf in (True, False):
        try:
            write_probe(config, folder, length=LENGTH, gguf=gguf)
            return
        except ImportError as error:
            reason = f"{error.name} is not installed here; pip install {error.name}"
            raise EngineFailure("writing the probe", reason) from None
        except ValueError as error:
            if not gguf or not str(error).startswith("gguf"):
                raise EngineFailure("writing the probe", str(error), expected=True) from None


def _row(
    question: EngineQuestion,
    engine: Engine,
    probe: Path | EngineFailure,
    stop: threading.Event,
    watch: Watcher,
    spell: bool,
) -> EngineRow:
    """The row of an engine, from its kept answer or a new one; a failure is a row too."""
    try:
        answer = kept_answers(question, engine, probe)
        environment = environment_of(
            engine, question.cache, stop, lambda package, done, size: watch(engine.name, package, done, size)
        )
        row = _answered(question, engine, environment, answer, stop, watch)
        if row.differs and spell:
            row = replace(row, write=_what_to_write(question, engine, environment, stop, watch))
        watch(engine.name, "done", 0, 0)
        return row
    except EngineFailure as failure:
        watch(engine.name, f"failed: {failure}", 0, 0)
        cells: dict[str, Cell] = {name: Cell("not known", str(failure)) for name in table_fields(question.positions)}
        return EngineRow(
            engine.name, engine.version, engine.kind, cells, failure="" if failure.expected else str(failure)
        )


def kept_answers(question: EngineQuestion, engine: Engine, probe: Path | EngineFailure) -> KeptAnswer:
    """Where an engine's answer is kept: another place for another probe, version or script.

    Raises:
        EngineFailure: The engine does not take such a file, or no probe can be written for it.
    """
    if isinstance(probe, EngineFailure):
        raise probe
    _require_taken(engine, question, probe)
    script = engine.script.read_text(encoding="utf-8")
    key = short_digest(probe.name, environment_folder(engine, question.cache).name, script)
    return KeptAnswer(probe, question.cache / "answers" / f"{engine.name}-{key}.npz")


def _answered(
    question: EngineQuestion,
    engine: Engine,
    environment: Environment,
    answer: KeptAnswer,
    stop: threading.Event,
    watch: Watcher,
) -> EngineRow:
    """The row of an engine that answers."""
    reading = _reading(engine, environment, answer, stop, watch)
    cells: dict[str, Cell] = {str(name): cell for name, cell in live_cells(reading, question.positions).items()}
    row = EngineRow(
        engine.name, reading.version or engine.version, engine.kind, cells, dict(environment.files),
        notes=(*reading.notes, *reading.diagnosis.notes),
    )  # fmt: skip
    if not row.differs:
        return row
    mistakes = tuple(finding.name for finding in reading.diagnosis.findings)
    reports = reports_of(engine.name, question.positions.model_type, mistakes)
    return replace(row, effects=_effects(question, reading), reports=reports)


def _what_to_write(
    question: EngineQuestion, engine: Engine, environment: Environment, stop: threading.Event, watch: Watcher
) -> str:
    """The first spelling with which the engine does what the file says, as a run of it shows; "" where none helps."""
    for spelling in other_spellings(question.config):
        asked = question._replace(config=spelling.config)
        with contextlib.suppress(EngineFailure):
            answer = kept_answers(asked, engine, written_probe(asked))
            if _reading(engine, environment, answer, stop, watch).diagnosis.agree:
                return f"{spelling.words}; it was run, and then does as the file says"
    return ""


def _reading(
    engine: Engine, environment: Environment, answer: KeptAnswer, stop: threading.Event, watch: Watcher
) -> EngineReading:
    """What an engine's kept answer shows, or else a new one; one that cannot be read is not kept."""
    if answer.path.is_file():
        with contextlib.suppress(EngineFailure):
            return reading_of(engine, answer.probe, answer.path)
    watch(engine.name, "running", 0, 0)
    answer.path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return ask_engine(engine, environment, answer.probe, answer.path, stop)
    except EngineFailure:
        answer.path.unlink(missing_ok=True)
        raise


def _require_taken(engine: Engine, question: EngineQuestion, probe: Path) -> None:
    """Refuse what an engine is known not to take."""
    name = question.positions.model_type
    if engine.model_types and name not in engine.model_types:
        raise EngineFailure("choosing its code", f"none for {name} that can be called by itself", expected=True)
    if engine.kind == "functions" and table_fields(question.positions)[0] != "pairs":
        raise EngineFailure("choosing its code", "only its functions for rotations can be called", expected=True)
    if engine.gguf and not (probe / "model.gguf").is_file():
        raise EngineFailure("writing the probe", f"no GGUF file is written for {name} yet", expected=True)


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
