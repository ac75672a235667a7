"""Run engines on a file, each in its own process, several at a time, with their answers kept."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from posenc.core import validation
from posenc.engines.ask_engine import EngineReading, ask_engine, reading_of
from posenc.engines.cache_folder import folder_digest, short_digest
from posenc.engines.cell import Cell
from posenc.engines.effect_on_logits import effects_on_logits
from posenc.engines.engine import Engine
from posenc.engines.engine_cells import cells_of_roles, live_cells, table_fields
from posenc.engines.engine_failure import EngineFailure
from posenc.engines.engine_question import EngineQuestion, lengths_of, written_probe
from posenc.engines.environments import Environment, environment_folder, environment_of
from posenc.engines.reports import reports_of
from posenc.engines.side_by_side import EngineRow, EngineTable
from posenc.engines.spellings import other_spellings
from posenc.models.layer_sentences import in_words
from posenc.models.model_positions import LayerGroup, layer_ranges
from posenc.probe.rotation_reading import LayerRotation

#: Called with the engine, what happens to it, and the bytes done and in all of a download.
Watcher = Callable[[str, str, int, int], None]


class KeptAnswer(NamedTuple):
    """A probe, and the cache paths of one engine's answer to it and of its refusal in a run over many files."""

    probe: Path
    path: Path

    @property
    def refusal(self) -> Path:
        """File of the error that the engine's process wrote in place of an answer."""
        return self.path.with_suffix(".error")


def compare_engines(
    question: EngineQuestion,
    engines: Sequence[Engine],
    stop: threading.Event,
    watch: Watcher,
    workers: int | None = None,
    *,
    spell: bool = True,
    refusals: bool = False,
) -> EngineTable:
    """Ask each engine, and set their answers side by side.

    Args:
        question: The file.
        engines: The engines.
        stop: Set to end all of them.
        watch: Told what happens.
        workers: Engines that run at once; as many as the machine has cores, four at most, if None.
        spell: Whether other spellings of the file are tried with engines that differ.
        refusals: Whether an engine that refused the file in a run over many files is not asked again.

    Raises:
        Stopped: `stop` was set.
    """
    probes = {gguf: written_probe(question, gguf=gguf) for gguf in {engine.gguf for engine in engines}}
    number = min(os.cpu_count() or 1, 4) if workers is None else validation.integer("workers", workers, 1, 64)
    with concurrent.futures.ThreadPoolExecutor(number) as pool:
        waiting = [
            pool.submit(_row, question, engine, probes[engine.gguf], stop, watch, spell, refusals) for engine in engines
        ]
        try:
            rows = tuple(one.result() for one in waiting)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    roles = cells_of_roles(question.positions)
    rows = tuple(replace(row, cells={**row.cells, **roles}) for row in rows)
    fields = (*table_fields(question.positions), *roles)
    others = (*question.positions.draft, *question.unasked)
    unasked = (f"{group.part}, not asked, {_in_a_line(group)}" for group in others)
    meant = (*map(_in_a_line, question.positions.groups), *unasked)
    return EngineTable(question.name, question.positions.model_type, fields, meant, rows)


def _in_a_line(group: LayerGroup) -> str:
    return f"{layer_ranges(group.layers)}: {'; '.join(in_words(group))}"


def _row(
    question: EngineQuestion,
    engine: Engine,
    probe: Path | EngineFailure,
    stop: threading.Event,
    watch: Watcher,
    spell: bool,
    refusals: bool,
) -> EngineRow:
    """The table row of an engine, from its answer in the cache or a new one; a failure becomes a row too."""
    try:
        answer = kept_answers(question, engine, probe)
        if refusals and answer.refusal.is_file():
            raise EngineFailure("answering", answer.refusal.read_text(encoding="utf-8"))
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
    """Return the cache paths of an engine's answer, whose names hash all that it hangs on.

    That is the probe, the environment, the packages of this Python that the engine runs on, and the scripts.

    Raises:
        EngineFailure: The engine does not take such a file, or no probe can be written for it.
    """
    if isinstance(probe, EngineFailure):
        raise probe
    _require_taken(engine, question)
    environment = environment_folder(engine, question.cache).name
    key = short_digest(folder_digest(probe), environment, engine.source, engine.surroundings())
    return KeptAnswer(probe, question.cache / "answers" / f"{engine.name}-{key}.npz")


def _answered(
    question: EngineQuestion,
    engine: Engine,
    environment: Environment,
    answer: KeptAnswer,
    stop: threading.Event,
    watch: Watcher,
) -> EngineRow:
    """The table row of an engine's reading, with effects on logits and public reports where it differs."""
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
    """Run the engine on other spellings of the config, and name the first that makes it agree; "" if none does."""
    for spelling in other_spellings(question.config):
        asked = question._replace(config=spelling.config)
        with contextlib.suppress(EngineFailure):
            answer = kept_answers(asked, engine, written_probe(asked, gguf=engine.gguf))
            if _reading(engine, environment, answer, stop, watch).diagnosis.agree:
                return f"{spelling.words}; it was run, and then does as the file says"
    return ""


def _reading(
    engine: Engine, environment: Environment, answer: KeptAnswer, stop: threading.Event, watch: Watcher
) -> EngineReading:
    """Read an engine's answer in the cache, or else run it; a new answer that cannot be read is deleted."""
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


def _require_taken(engine: Engine, question: EngineQuestion) -> None:
    """Raise EngineFailure where the engine is known not to support the file's model type or kind of encoding."""
    name = question.positions.model_type
    if (engine.model_types and name not in engine.model_types) or name in engine.lacks:
        raise EngineFailure("choosing its code", f"its source has no model of type {name}", expected=True)
    if engine.kind == "functions" and table_fields(question.positions)[0] != "pairs":
        raise EngineFailure("choosing its code", "only its functions for rotations can be called", expected=True)


def _effects(question: EngineQuestion, reading: EngineReading) -> dict[int, float]:
    """Largest change of logits in any layer by length in tokens: 512, the trained length and the longest stated."""
    changes: dict[int, float] = {}
    for layer in reading.layers:
        if isinstance(layer, LayerRotation):
            group = question.positions.at(layer.layer)[0]
            for length, change in effects_on_logits(group, layer, lengths_of(question.config)).items():
                changes[length] = max(changes.get(length, 0.0), change)
    return changes
