"""Transformers runs the probe of every architecture as its config says, and misreadings planted in it are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from every import every
from posenc.probe import read_probe, write_probe
from posenc.probe.architectures import ARCHITECTURES
from probe.live_engine import MODEL_TYPES, config_of, load, run
from probe.misreadings import BIAS, BUCKET, COORDINATES, ROTATION, ROW, misreadings_of

BY_DAY = ("llama", "gemma2", "mpt", "gpt2")
#: What is planted by day in a type that has the rotation of llama: what llama lacks, and a number of its own code.
OWN = {"gemma2": ("window off by one", "window ignored", "softmax scale")}
#: Tables are asked beyond what 16-bit positions hold.
LENGTHS = {"gpt2": 600, "opt": 600, "bert": 600, "t5": 160, "umt5": 40}
CASES = [
    *(pytest.param(name, OWN.get(name), marks=[] if name in BY_DAY else [pytest.mark.nightly]) for name in MODEL_TYPES),
    *(pytest.param(name, None, marks=[pytest.mark.nightly]) for name in OWN),
]


def has_window(config: dict) -> bool:
    return bool({"sliding_window", "local_attention"} & set(config))


def test_every_architecture_is_run():
    whole = {"qwen2_vl_text": "qwen2_vl", "qwen2_5_vl": "qwen2_5_vl_text"}  # the text model's or the file's
    assert {whole.get(name, name) for name in ARCHITECTURES} == {config_of(name)["model_type"] for name in MODEL_TYPES}
    counts = [len(misreadings_of(name, windowed=has_window(config_of(name)))) for name in MODEL_TYPES]
    assert sum(counts) >= 400
    assert all(len(table) >= 15 for table in (ROTATION, BIAS, ROW, BUCKET))


@pytest.mark.parametrize(("name", "chosen"), CASES)
def test_what_is_planted_in_transformers_is_named(name: str, chosen: tuple[str, ...] | None, tmp_path: Path) -> None:
    config = config_of(name)
    folder = write_probe(config, tmp_path / "probe", length=LENGTHS.get(name, 64))
    model = load(folder)
    assert model.config.get_text_config().num_hidden_layers >= 3
    right = read_probe(folder, run(model, folder))
    assert right.diagnosis.agree, right.lines()
    planted = misreadings_of(name, windowed=has_window(config))

    def check(mistake: str) -> None:
        with planted[mistake].plant(model):
            reading = read_probe(folder, run(model, folder))
        assert not reading.diagnosis.agree
        assert planted[mistake].found_in(reading.diagnosis.findings), reading.diagnosis.lines()

    every(chosen or planted, check)
    assert read_probe(folder, run(model, folder)).diagnosis.agree, "every plant must be taken out again"


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["qwen2_vl", "qwen2_5_vl"])
def test_position_ids_show_which_coordinate_a_pair_reads(name: str, tmp_path: Path) -> None:
    folder = write_probe(config_of(name), tmp_path / "probe", length=64, position_ids=True)
    model = load(folder)
    right = read_probe(folder, run(model, folder))
    assert right.diagnosis.agree, right.lines()
    assert "order of coordinates" in right.diagnosis.looked_at

    def check(mistake: str) -> None:
        with COORDINATES[mistake].plant(model):
            reading = read_probe(folder, run(model, folder))
        assert COORDINATES[mistake].found_in(reading.diagnosis.findings), reading.diagnosis.lines()

    every(COORDINATES, check)


@pytest.mark.nightly
def test_an_engine_that_leaves_softcaps_out_is_read_without_them(tmp_path: Path) -> None:
    folder = write_probe(config_of("gemma2"), tmp_path / "probe", length=64)
    model = load(folder)
    for layer in model.model.layers:
        layer.self_attn.attn_logit_softcapping = None
    model.config.final_logit_softcapping = None
    reading = read_probe(folder, run(model, folder))
    assert reading.diagnosis.agree, reading.lines()
    said = "The softcap of attention's logits and the output's logits is not applied; positions are read without it."
    assert said in reading.diagnosis.notes
    for layer in model.model.layers:
        layer.self_attn.scaling *= 1.06066
    reading = read_probe(folder, run(model, folder))
    assert [finding.name for finding in reading.diagnosis.findings] == ["logit factor"], reading.lines()
    assert said in reading.diagnosis.notes
