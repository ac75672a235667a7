"""`posenc probe` writes a probe, and `posenc probe read` says what an engine made of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from every import every
from probe.numpy_engine import engine

CONFIG = {
    "model_type": "llama", "hidden_size": 128, "num_attention_heads": 8, "num_hidden_layers": 4, "head_dim": 16,
    "rope_theta": 500_000.0,
}  # fmt: skip
SHORT = ("--to", "probe", "--length", "32")


@pytest.fixture
def run(posenc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(CONFIG))
    return lambda *words: posenc("probe", *words)


def test_a_probe_is_written_and_the_mistake_is_read(run):
    written = run("config.json", *SHORT)
    assert (written.code, written.err) == (0, "")
    assert "then: posenc probe read ANSWERS --folder probe" in written.out
    np.savez("probe/right.npz", **engine()("probe", 500_000.0))
    right = run("read", "probe/right.npz")
    assert right.out.startswith("they agree in everything that this evidence can show\n")
    assert right.code == 0
    np.savez("wrong.npz", **engine()("probe", 10_000.0))
    wrong = run("read", "wrong.npz", "--folder", "probe")
    assert wrong.out.startswith(
        "the config and the engine: not the same\nlayers 0-2, main:\n  base: 500000 and 10000 ±"
    )
    assert "\nmistake: base\nThe base is 10000 where 500000 is meant.\n" in wrong.out
    assert wrong.code == 1
    assert json.loads(run("read", "wrong.npz", "--folder", "probe", "--json").out)["diagnosis"]["findings"]


def test_every_option_changes_what_is_written(run):
    plain = json.loads(run("config.json", *SHORT, "--json").out)
    assert plain["files"] == [
        "config.json", "model.safetensors", "probe.json", "tokenizer.json", "tokenizer_config.json",
    ]  # fmt: skip
    for name, option in (("long", ("--length", "64")), ("deep", ("--layers", "4")), ("placed", ("--position-ids",))):
        assert run("config.json", "--to", name, "--length", "32", *option).code == 0
    probes = [Path(name, "probe.json").read_bytes() for name in ("probe", "long", "deep", "placed")]
    assert len(set(probes)) == 4
    assert "model.gguf" in run("config.json", "--to", "file", "--length", "32", "--gguf").out


def test_dtype_widens_the_error_bars(run):
    run("config.json", *SHORT)
    np.savez("probe/answers.npz", **engine()("probe", 500_000.0))
    assert "error bars of float32" in run("read", "probe/answers.npz").out
    assert "error bars of bfloat16" in run("read", "probe/answers.npz", "--dtype", "bfloat16").out


def test_options_that_do_not_fit_are_one_line(run):
    run("config.json", *SHORT)
    wrong = {
        ("config.json",): "posenc probe: to must be given for a config",
        ("config.json", "--to", "other", "--dtype", "float32"): "posenc probe: to must be given for a config",
        ("config.json", "other.json", "--to", "other"): "posenc probe: CONFIG must be one file",
        ("read",): "posenc probe: ANSWERS must be one file",
        ("read", "probe/answers.npz", "--layers", "3"): "posenc probe: ANSWERS must be one file",
        ("read", "none.npz", "--folder", "probe"): "posenc probe: none.npz: No such file",
    }

    def check(words: tuple[str, ...]) -> None:
        ran = run(*words)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert ran.err.startswith(wrong[words]), ran.err

    every(wrong, check)
