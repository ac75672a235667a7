"""Engines are asked for masked tokens and for decoders behind encoders, and misreadings that are planted are named."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from posenc.engines.ask_engine import request_to, run_requests
from posenc.engines.cache_folder import cache_folder
from posenc.engines.engine import RUNNERS, named
from posenc.engines.engine_failure import EngineFailure
from posenc.engines.engine_process import plain_json
from posenc.engines.environments import Environment, environment_of
from posenc.engines.known_engines import known_engines
from posenc.probe import ProbeReading, read_probe, write_probe
from probe.live_engine import load

CONFIGS: dict[str, dict[str, Any]] = {
    "bert": {"model_type": "bert", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12,
             "max_position_embeddings": 512, "position_embedding_type": "absolute"},
    "modernbert": {"model_type": "modernbert", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 22,
                   "global_attn_every_n_layers": 3, "local_attention": 128, "global_rope_theta": 160_000.0,
                   "local_rope_theta": 10_000.0, "max_position_embeddings": 8192},
    "t5": {"model_type": "t5", "d_model": 512, "d_kv": 64, "num_heads": 8, "num_layers": 6,
           "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128},
}  # fmt: skip
#: Engines that answer for each, besides transformers itself.
ENGINES = {
    "bert": ("transformers-4", "llama.cpp", "keras-hub", "mobius", "openvino", "ctranslate2", "transformers.js"),
    "modernbert": ("transformers-4", "llama.cpp", "openvino", "transformers.js"),
    "t5": ("transformers-4", "llama.cpp", "mobius", "openvino", "ctranslate2", "transformers.js"),
}
#: Engines that refuse each, and what they say.
REFUSED = {
    ("modernbert", "ctranslate2"): "No conversion is registered for the model configuration ModernBertConfig",
    ("modernbert", "mobius"): "initializer(s) without weights: 'embeddings_norm.bias'",
    ("modernbert", "keras-hub"): "KerasHub has no converter",
    ("modernbert", "mlx-lm"): "Model type modernbert not supported",
    ("modernbert", "onnxruntime-genai"): "The modernbert model is not currently supported",
    ("bert", "mlx-lm"): "Model type bert not supported",
    ("bert", "onnxruntime-genai"): "The bert model is not currently supported",
    ("t5", "mlx-lm"): "Model type t5 not supported",
    ("t5", "onnxruntime-genai"): "The t5 model is not currently supported",
    ("t5", "keras-hub"): "KerasHub has no converter",
}


def in_config(**changed: Any) -> Callable[[Path], None]:
    """Other numbers in the config."""

    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))

    return change


def in_table(end: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    """Other rows in the tensors whose names end so."""

    def changed(folder: Path) -> None:
        path = folder / "model.safetensors"
        tensors = {
            name: np.ascontiguousarray(change(one)) if name.endswith(end) else one
            for name, one in load_file(path).items()
        }
        save_file(tensors, path, metadata={"format": "pt"})

    return changed


def both(*changes: Callable[[Path], None]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        for one in changes:
            one(folder)

    return change


class Plant(NamedTuple):
    """A misreading: what a process is given in place of the file, so that it does as an engine that misreads the file.

    Args:
        model_type: Of the file.
        change: Changes a copy of the probe's folder.
        name: Of the finding.
        says: What the finding says.
    """

    model_type: str
    change: Callable[[Path], None]
    name: str
    says: str


PLANTS = {
    "rows one too high": Plant(
        "bert", in_table("position_embeddings.weight", lambda rows: np.roll(rows, -1, 0)), "off by one", "1 too high"
    ),
    "largest distance": Plant("t5", in_config(relative_attention_max_distance=64), "largest distance", "64"),
    "buckets": Plant(
        "t5",
        both(in_config(relative_attention_num_buckets=16), in_table("attention_bias.weight", lambda rows: rows[:16])),
        "buckets", "16",
    ),
    "bases exchanged": Plant(
        "modernbert", in_config(global_rope_theta=10_000.0, local_rope_theta=160_000.0),
        "local and global exchanged", "layers 1-2",
    ),
    "window": Plant("modernbert", in_config(local_attention=64), "window", "see 32 to 62 positions"),
}  # fmt: skip


def probe_of(model_type: str, place: Path, gguf: bool = False) -> Path:
    return write_probe(CONFIGS[model_type], place / model_type, length=64, gguf=gguf)


def environment(name: str) -> Environment:
    """Environment of an engine; skips where it could not be made."""
    try:
        return environment_of(named(known_engines(), name), cache_folder(), threading.Event(), lambda *_: None)
    except EngineFailure as failure:
        pytest.skip(f"{name} cannot be installed here: {failure}")


def asked(name: str, probes: list[Path], place: Path) -> list[Path]:
    """Answers of one process of an engine to several probes, or the files that say why there is none."""
    engine, site = named(known_engines(), name), environment(name)
    answers = [place / f"answer_{number}.npz" for number in range(len(probes))]
    requests = [request_to(engine, site, probe, one, place) for probe, one in zip(probes, answers, strict=True)]
    for one in requests:
        Path(one["scratch"]).mkdir()
    (place / "request.json").write_bytes(plain_json(requests))
    run_requests(engine, place, 60.0 * len(probes) + 240, threading.Event())
    return answers


def planted(probe: Path, plant: Plant, target: Path) -> Path:
    shutil.copytree(probe, target)
    plant.change(target)
    return target


def require_named(reading: ProbeReading, plant: Plant) -> None:
    said = [(one.name, f"{one.sentence} {one.where}") for one in reading.diagnosis.findings]
    assert not reading.diagnosis.agree
    assert any(name == plant.name and plant.says in sentence for name, sentence in said), said


@pytest.fixture(scope="module")
def runner() -> Any:
    """The script of transformers, in this process."""
    sys.path.insert(0, str(RUNNERS))
    spec = importlib.util.spec_from_file_location("posenc_engine_runner", RUNNERS / "run_transformers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(RUNNERS))


@pytest.mark.parametrize("name", PLANTS)
def test_a_misreading_is_named_through_the_answers_of_a_runner(name: str, runner: Any, tmp_path: Path) -> None:
    plant = PLANTS[name]
    probe = probe_of(plant.model_type, tmp_path)
    engine = named(known_engines(), "transformers")
    for given in (probe, planted(probe, plant, tmp_path / "planted")):
        request = request_to(engine, Environment(None, {}), given, tmp_path / "answer.npz", tmp_path)
        reading = read_probe(probe, runner.answer(request, lambda step: None))
        if given is probe:
            assert reading.diagnosis.agree
        else:
            require_named(reading, plant)


@pytest.mark.parametrize("model_type", ["bert", "modernbert"])
def test_the_head_behind_last_states_is_that_of_transformers(model_type: str, runner: Any, tmp_path: Path) -> None:
    from masked_prediction import head_of

    probe = probe_of(model_type, tmp_path)
    model = load(probe)
    tokens = torch.arange(20)[None] % 8
    with torch.no_grad():
        states = getattr(model, model.base_model_prefix)(tokens).last_hidden_state
        expected = model(tokens).logits.numpy()
    found = head_of({"probe": str(probe), "model_type": model_type})(states.numpy())
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(found, expected, atol=2**-24 * 64 * np.abs(expected).max())


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted({name for names in ENGINES.values() for name in names}))
def test_engines_do_as_the_file_says_and_misreadings_are_named(name: str, tmp_path: Path) -> None:
    types = [one for one, names in ENGINES.items() if name in names]
    gguf = named(known_engines(), name).gguf
    probes = {one: probe_of(one, tmp_path, gguf) for one in types}
    plants = [one for one in PLANTS.values() if one.model_type in types and not gguf]  # they change the folder
    copies = [planted(probes[one.model_type], one, tmp_path / f"plant_{at}") for at, one in enumerate(plants)]
    answers = asked(name, [*probes.values(), *copies], tmp_path)
    for probe, answer in zip(probes.values(), answers, strict=False):
        assert read_probe(probe, answer).diagnosis.agree
    for plant, answer in zip(plants, answers[len(probes) :], strict=True):
        require_named(read_probe(probes[plant.model_type], answer), plant)


@pytest.mark.nightly
def test_llama_cpp_has_one_largest_distance_whatever_the_file_says(tmp_path: Path) -> None:
    probe = write_probe(
        {**CONFIGS["t5"], "relative_attention_max_distance": 64}, tmp_path / "probe", length=64, gguf=True
    )
    (answer,) = asked("llama.cpp", [probe], tmp_path)
    (finding,) = read_probe(probe, answer).diagnosis.findings
    assert finding.name == "largest distance"
    assert "128" in finding.sentence


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted({name for _, name in REFUSED}))
def test_what_an_engine_does_not_take_it_says_itself(name: str, tmp_path: Path) -> None:
    types = [model_type for model_type, other in REFUSED if other == name]
    answers = asked(name, [probe_of(one, tmp_path) for one in types], tmp_path)
    for model_type, answer in zip(types, answers, strict=True):
        assert REFUSED[model_type, name] in answer.with_suffix(".error").read_text()


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "folder"), [("sglang", "sglang/srt/models"), ("megatron-core", "megatron")])
def test_sources_that_lack_a_model_do_not_name_it(name: str, folder: str) -> None:
    site = environment(name).site
    assert site is not None
    files = sorted((site / folder).rglob("*.py"))
    assert files
    for model_type in named(known_engines(), name).lacks:
        assert not [path for path in files if model_type in path.read_text(errors="replace").lower()]
