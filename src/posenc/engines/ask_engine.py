"""Ask one engine what it makes of a file: its environment, its process, and what its answer shows."""

from __future__ import annotations

import sys
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from posenc.core import plain_file
from posenc.diagnosis.verdict import Diagnosis
from posenc.engines.engine import RUNNERS, Engine
from posenc.engines.engine_failure import EngineFailure
from posenc.engines.engine_process import plain_json, run_program
from posenc.engines.environments import Environment
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.probe.answered_probe import LayerReading
from posenc.probe.architectures import architecture_of
from posenc.probe.judge_probe import judge_layers
from posenc.probe.layout import ProbeLayout, read_layout
from posenc.probe.prompts import asked_distances
from posenc.probe.read import read_probe
from posenc.probe.rotation_reading import LayerRotation, read_rotation
from posenc.probe.scores import OPERATIONS, ROUNDOFF, LayerScores

#: Bytes of the largest answer that is read.
LARGEST = 1 << 30


@dataclass(frozen=True)
class EngineReading:
    """Positions that an engine applied, layer by layer, and what its process said of itself.

    Attributes:
        layers: What was read of each layer of the probe; fewer where an engine's functions were called for some alone.
        diagnosis: Whether that is what the file states, and the mistake if not.
        version: The version that the process reported.
        notes: What the engine says besides, and what its runner handed over.
        amplitude_source: "transcribed" where a factor of the softmax scale was read in the engine's source.
    """

    layers: tuple[LayerReading, ...]
    diagnosis: Diagnosis
    version: str
    notes: tuple[str, ...] = ()
    amplitude_source: Literal["live", "transcribed"] = "live"


def ask_engine(
    engine: Engine, environment: Environment, probe: Path, answer: Path, stop: threading.Event
) -> EngineReading:
    """Run an engine in its own process on a probe, and read what it applied.

    Args:
        engine: The engine.
        environment: Its packages.
        probe: Folder of the probe.
        answer: Where the process writes its answer, an .npz.
        stop: Set to end it.

    Raises:
        EngineFailure: The process or its answer is not what it should be; the failure names the step.
        Stopped: `stop` was set.
    """
    with tempfile.TemporaryDirectory(prefix="posenc-engine-") as place:
        folder = Path(place)
        (folder / "request.json").write_bytes(plain_json(request_to(engine, environment, probe, answer, folder)))
        run_requests(engine, folder, engine.seconds, stop)
    return reading_of(engine, probe, answer)


def request_to(engine: Engine, environment: Environment, probe: Path, answer: Path, folder: Path) -> dict[str, Any]:
    """Build the request.json of an engine's process: its runner and packages, the probe, and the paths to write."""
    layout, _ = read_layout(probe)
    config = load_config(probe)
    return {
        "site": "" if environment.site is None else str(environment.site),
        "runner": str(engine.script),
        "probe": str(probe),
        "answer": str(answer),
        "refusal": str(answer.with_suffix(".error")),
        "scratch": str(folder / answer.stem),
        "model_type": config["model_type"],
        "auto_class": architecture_of(config).auto_class,
        "vocabulary": layout.stream.vocabulary,
        "channels": layout.stream.queries,
        "layers": layout.stream.layers,
        "distances": asked_distances(layout.length),
    }


def run_requests(engine: Engine, folder: Path, seconds: float, stop: threading.Event) -> None:
    """Run an engine's process on the request in a folder, or the list of them.

    Raises:
        EngineFailure: It ended otherwise than well, or not in time.
        Stopped: `stop` was set.
    """
    run_program(
        (sys.executable, "-P", str(RUNNERS / "answer_request.py"), str(folder / "request.json")),
        step="starting", seconds=seconds, stop=stop, folder=folder, environment=_quiet(folder),
    )  # fmt: skip


def reading_of(engine: Engine, probe: Path, answer: Path) -> EngineReading:
    """Reading of an engine's answer to a probe.

    Raises:
        EngineFailure: There is no answer, or it is not what was asked for.
    """
    arrays = _answer(answer)
    read = _read_whole if engine.kind == "whole model" else _read_functions
    try:
        return read(probe, read_layout(probe)[0], arrays)
    except (ValueError, TypeError) as error:
        raise EngineFailure("reading its answer", str(error)) from None


def _quiet(folder: Path) -> dict[str, str]:
    """Environment variables of an engine's process: one thread, no network, no GPU, a Hub cache inside `folder`."""
    return {
        "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
        "HF_HOME": str(folder / "hub"), "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore", "PYTHONNOUSERSITE": "1",
    }  # fmt: skip


def _answer(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise EngineFailure("reading its answer", "the process ended well and wrote none")
    try:
        with plain_file.opened(path, LARGEST) as file, np.load(file, allow_pickle=False) as held:
            return {name: held[name] for name in held.files}
    except (ValueError, OSError, EOFError) as error:
        raise EngineFailure("reading its answer", f"the file is damaged: {error}") from None


def _version(answer: dict[str, Any]) -> str:
    return str(answer.get("version", ""))


def _notes(answer: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(note) for note in np.atleast_1d(answer.get("notes", ())))


def _read_whole(probe: Path, layout: ProbeLayout, answer: dict[str, Any]) -> EngineReading:
    reading = read_probe(probe, answer)
    layers = tuple(_in_head(layout, layer) for layer in reading.layers)
    return EngineReading(layers, reading.diagnosis, _version(answer), _notes(answer))


def _in_head(layout: ProbeLayout, layer: LayerReading) -> LayerReading:
    """Shift a reading's first channel to count from the start of the head, as the probe may cover only a slice."""
    if isinstance(layer, LayerRotation) and layer.rotates:
        return replace(layer, start=layer.start + layout.first)
    return layer


def _read_functions(probe: Path, layout: ProbeLayout, answer: dict[str, Any]) -> EngineReading:
    """Read the rotation of each layer from scores (channels, distances) of unit queries with a key of ones."""
    expected = from_config(load_config(probe))
    distances = np.array(asked_distances(layout.length))
    shown, layers = [], []
    for layer in range(layout.stream.layers):
        if f"layer_{layer}" not in answer:  # its model code calls no rotation there
            continue
        scores = np.asarray(answer[f"layer_{layer}"], np.float64)
        if scores.shape != (layout.stream.queries, len(distances)):
            raise ValueError(
                f"layer {layer} must have scores of shape {(layout.stream.queries, len(distances))}; got {scores.shape}"
            )
        errors = OPERATIONS * ROUNDOFF["float32"] * (1 + np.abs(scores))
        factor = float(answer.get("softmax_factor", 1.0))
        shown.append(LayerScores(distances, scores * factor, errors * factor, ((), ())))
        layers.append(read_rotation(layer, shown[-1]))
    if not layers:
        raise ValueError("answer must hold scores of a layer; it holds none")
    verdict = judge_layers(layout, expected, shown, tuple(layers))
    if len(layers) < layout.stream.layers:  # layers in words were counted among those that answered
        verdict = replace(verdict, findings=tuple(replace(one, where="") for one in verdict.findings))
    source: Literal["live", "transcribed"] = "transcribed" if answer.get("softmax_factor", 1.0) != 1.0 else "live"
    shifted = tuple(_in_head(layout, layer) for layer in layers)
    return EngineReading(shifted, verdict.looked_at_in(expected), _version(answer), _notes(answer), source)
