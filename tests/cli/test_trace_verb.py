"""`posenc trace` prints the positions that a loaded model used, and names the first wrong one; `posenc audit`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from every import every

pytest.importorskip("transformers")

MINE = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2}
model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=2, **sizes)).eval()
wrong = LlamaForCausalLM(model.config).eval()
failing = LlamaForCausalLM(model.config).eval()
failing.model.layers[0].mlp.forward = lambda x: {}["loss"]
own = wrong.model.rotary_emb.forward
wrong.model.rotary_emb.forward = lambda x, position_ids: own(x, position_ids - position_ids[:, :1])


def my_loop(model):
    model(torch.ones(1, 4, dtype=torch.long), position_ids=torch.arange(8, 12)[None])


def broken(model):
    print("{")
    return my_loop(model) or {}["loss"]


def leaves(model):
    raise SystemExit(0)


def too_wide(model):
    model(torch.ones(1, 4, 4, dtype=torch.long))
"""


@pytest.fixture
def run(posenc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    return lambda *words: posenc("trace", *words)


def test_a_stock_model_agrees_and_a_fault_is_named(run):
    right = run("mine.py:model", "--padding", "3")
    assert (right.code, right.err) == (0, "")
    assert right.out.startswith("they agree in everything that this evidence can show\n")
    assert "row 1, layers 0-1: q and k at 21-28" in right.out
    wrong = run("mine.py:wrong", "--chunk", "8", "--json", "--picture", "schedule.png")
    assert wrong.code == 1
    found = json.loads(wrong.out)
    assert [finding["name"] for finding in found["findings"]] == ["positions restarted"]
    assert found["schedule"][1].startswith("  rows 0-1, layers 0-1: q and k at 0-7")
    assert Path("schedule.png").read_bytes().startswith(b"\x89PNG")


def test_ones_own_loop_is_traced(run):
    shard = run("mine.py:model", "--run", "mine.py:my_loop", "--offset", "8")
    assert shard.code == 0
    assert "q and k at 8-11" in shard.out
    assert "mistake: offset of the rank" in run("mine.py:wrong", "--run", "mine.py:my_loop", "--offset", "8").out
    packed = run("mine.py:model", "--documents", "5", "7")
    assert (packed.code, "q and k at 0-4 0-6" in packed.out) == (0, True)


def test_an_error_of_ones_own_function_is_told_from_a_fault_of_posenc(run):
    def told(function, line, error):
        got = run("mine.py:model", "--run", f"mine.py:{function}", "--json")
        said = f"mine.py, line {line}: {error}. Your code raised it; its traceback is on stderr."
        assert got.code == 2, got
        assert json.loads(got.out) == {"verdict": "cannot be compared", "error": said}
        assert f", line {line}, in {function}\n" in got.err, got.err
        assert got.err.endswith(f"posenc trace: {said}\n")
        assert f"{Path('src', 'posenc', 'cli')}" not in got.err

    told("broken", 21, "KeyError: 'loss'")
    told("leaves", 25, "SystemExit: 0")
    wide = run("mine.py:model", "--run", "mine.py:too_wide")
    assert (wide.code, "in too_wide\n" in wide.err, "fault of posenc" in wide.err) == (2, True, False), wide.err


def test_an_error_of_ones_own_model_is_told_from_a_fault_of_posenc(posenc, run):
    config = {"model_type": "llama", "hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 2}
    Path("config.json").write_text(json.dumps(config))
    for words in (("trace",), ("doctor", "config.json")):
        got = posenc(*words, "mine.py:failing")
        assert got.code == 2, got
        assert f"posenc {words[0]}: mine.py, line 10: KeyError: 'loss'. Your code raised it" in got.err, got.err
    got = posenc("audit", "mine.py:failing")
    assert (got.code, "LlamaForCausalLM, which raises KeyError: 'loss'" in got.err) == (2, True), got


def test_an_audit_is_printed(posenc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    found = posenc("audit", "mine.py:wrong")
    assert (found.code, found.err) == (1, "")
    assert "\ncached: breaks from token 12 of row 0, first seen in layer 0 (" in found.out
    facts = json.loads(posenc("audit", "mine.py:model", "--length", "16", "--json").out)
    assert {result["name"]: result["outcome"] for result in facts["results"]}["batch"] == "holds"
    assert posenc("audit", "mine.py:sizes").err.startswith("posenc audit: model must be a loaded model")


REFUSED = {
    ("mine.py:MISSING",): "target must name something in mine.py",
    ("mine.py:sizes",): "model must be a loaded model of transformers; got dict",
    ("mine.py:model", "--offset", "3"): "offset must come with --run",
    ("mine.py:model", "--run", "mine.py:my_loop", "--new", "3"): "new must be left out with --run",
    ("mine.py:model", "--run", "mine.py:sizes"): "run must name a function that takes the model; got dict",
    ("mine.py:model", "--documents", "5", "--new", "3"): "new must be left out with --documents",
    ("mine.py:model", "--documents", "0"): "documents must be",
    ("mine.py:model", "--padding", "24"): "padding must be",
    ("mine.py:model", "--prompt", "0"): "prompt must be",
    ("mine.py:model", "--picture", "schedule.gif"): "picture must be",
}


def test_what_cannot_be_traced_is_refused_in_a_line(run):
    def refused(words):
        got = run(*words)
        assert (got.code, got.out, got.err.count("\n")) == (2, "", 1), got
        assert got.err.startswith(f"posenc trace: {REFUSED[words]}"), got.err

    every(list(REFUSED), refused)
