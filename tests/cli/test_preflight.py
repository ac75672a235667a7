"""`posenc preflight`: its page, its exit codes, and the steps of the GitHub Action and of the pre-commit hook."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from posenc.cli import engines as engines_verb
from posenc.engines import Cell, EngineRow, EngineTable
from posenc.models import from_config, manifest

ROOT = Path(__file__).parents[2]
LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
         "rope_theta": 500_000.0, "max_position_embeddings": 32_768}  # fmt: skip
FILES = {
    "trainer.json": LLAMA,
    "served.json": {**LLAMA, "rope_theta": 10_000.0},
    "same.json": {**LLAMA, "rope_parameters": {"rope_type": "default", "rope_theta": 500_000.0}, "rope_theta": None},
    "bloom.json": {"model_type": "bloom"},
    "styled.json": {**LLAMA, "rope_style": "fancy"},
}


@pytest.fixture
def run(posenc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, config in FILES.items():
        Path(name).write_text(json.dumps(config))
    return lambda *words: posenc("preflight", *words)


def test_one_page_ends_with_what_to_write_and_how_to_repeat_it(run):
    said = run("trainer.json", "served.json", "--length", "32768")
    assert said.code == 1
    assert said.out.startswith("preflight: differ\n\npositions: differ\n  mistake: base\n")
    assert "to write:\n  rope_theta: 500000.0 in the served file, where it is 10000.0\n" in said.out
    command = said.out.strip().splitlines()[-1].strip()
    assert command == "posenc preflight trainer.json served.json --length 32768"
    assert run(*shlex.split(command)[2:]).out == said.out
    assert len(said.out.splitlines()) < 40


def test_exit_codes(run):
    assert run("trainer.json", "same.json").code == 0
    assert run("trainer.json", "served.json").code == 1
    assert run("trainer.json", "missing.json").code == 2
    assert run("bloom.json", "bloom.json").code == 3


def test_json(run):
    data = run("trainer.json", "served.json", "--json").data
    assert (data["verdict"], data["again"]) == ("differ", "posenc preflight trainer.json served.json")
    assert [check["name"] for check in data["preflight"]["checks"]] == ["positions", "length"]


def test_a_key_that_is_waived(run):
    assert "rope_style" in run("trainer.json", "styled.json").err + run("trainer.json", "styled.json").out
    said = run("trainer.json", "styled.json", "--waive", "rope_style")
    assert said.code == 3
    assert said.out.strip().endswith("--waive rope_style")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("trainer.json",), "posenc preflight: CONFIG must be given: The file that runs"),
        (("trainer.json", "RoPE(dim=8)"), "served must be a config.json, its folder, a .gguf file or a manifest; got"),
        (("model.safetensors", "trainer.json"), "trainer must be a config.json, its folder"),
        (("trainer.json", "missing.json"), "served cannot be read: config must name a file or a folder"),
        (("trainer.json", "missing.gguf"), "missing.gguf"),
        (("trainer.json", "same.json", "--length", "0"), "length must be an integer from 1"),
        (("trainer.json", "same.json", "--length", "many"), "posenc preflight: "),
        (("trainer.json", "same.json", "--draft", "no.json"), "draft cannot be read: config must name a file"),
        (("trainer.json", "same.json", "--waive", "rope_style"), "waive must name keys of the config"),
    ],
)
def test_bad_input_is_one_line(run, words, said):
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


#: By day, steps find a program that repeats its words and ends with the exit codes that posenc has for these files
#: (`test_exit_codes`, `test_a_key_that_is_waived`); by night, posenc itself.
STAND_IN = """#!/bin/sh
echo "posenc $*"
case "$*" in *no.json*) exit 2;; *styled.json*|*bloom.json*) exit 3;; *served.json*) exit 1;; esac
"""
ITSELF = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m posenc "$@"\n'
programs = pytest.mark.parametrize(
    "program", [pytest.param(STAND_IN, id="stand-in"), pytest.param(ITSELF, id="posenc", marks=pytest.mark.nightly)]
)


def a_posenc_on_the_path(folder: Path, program: str) -> dict[str, str]:
    """The environment of a step, with this program as the posenc that it finds."""
    script = folder / "bin" / "posenc"
    script.parent.mkdir()
    script.write_text(program)
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}"}


def bash(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@programs
def test_the_steps_of_the_action(run, tmp_path, program):
    action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert action["runs"]["using"] == "composite"
    install, step = action["runs"]["steps"]
    assert install["run"] == 'python -m pip install "${{ github.action_path }}[models]"'
    assert set(step["env"].values()) == {f"${{{{ inputs.{name} }}}}" for name in action["inputs"]}
    environment = a_posenc_on_the_path(tmp_path, program)
    defaults = {name.upper(): given.get("default", "") for name, given in action["inputs"].items()}

    def code(**inputs: str) -> tuple[int, str, str]:
        files = {name: tmp_path / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        for path in files.values():
            path.write_text("")
        given = {name: str(path) for name, path in files.items()}
        ran = bash(["bash", "-e", "-c", step["run"]], {**environment, **defaults, **given, **inputs})
        return ran.returncode, files["GITHUB_OUTPUT"].read_text(), files["GITHUB_STEP_SUMMARY"].read_text()

    agree = code(TRAINER="trainer.json", SERVED="same.json", LENGTH="4096")
    assert agree[:2] == (0, "code=0\n")
    assert "posenc preflight trainer.json same.json --length 4096" in agree[2]
    assert code(TRAINER="trainer.json", SERVED="no.json")[:2] == (2, "code=2\n")
    styled = {"TRAINER": "trainer.json", "SERVED": "styled.json", "WAIVE": "rope_style"}
    assert code(**styled)[:2] == (0, "code=3\n")
    assert code(**styled, STRICT="true")[:2] == (3, "code=3\n")


@programs
def test_the_hook(run, tmp_path, program):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)
    environment, entry = a_posenc_on_the_path(tmp_path, program), shlex.split(hook["entry"])
    assert bash([*entry, "trainer.json", "served.json"], environment).returncode == 1
    assert bash([*entry, "bloom.json", "bloom.json"], environment).returncode == 0


def test_engines_that_serve_the_file(run, monkeypatch):
    """A table as `engine_table` returns it: one engine differs, one was not run."""
    asked = []
    wrong = {"pairs": Cell("live", "as the file"), "frequencies": Cell("live", "truncate is True", differs=True)}
    rows = (EngineRow("llama.cpp", "1", "whole model", wrong, effects={4096: 0.48}, write="nothing helps"),
            EngineRow("mlx-lm", "2", "whole model", {}, failure="install: no network"))  # fmt: skip

    def engine_table(path: str, **options: Any) -> EngineTable:
        asked.append((path, options["engines"]))
        return EngineTable(path, "llama", ("pairs", "frequencies"), (), rows)

    # `posenc engines` binds the function when it is first loaded, which must not be while it is replaced.
    assert engines_verb.engine_table is not engine_table
    monkeypatch.setattr("posenc.engines.engine_table", engine_table)
    said = run("trainer.json", "same.json", "--engine", "llama.cpp", "mlx-lm")
    assert (said.code, asked) == (1, [("same.json", ("llama.cpp", "mlx-lm"))])
    page = said.out
    assert "llama.cpp 1: differ\n  pairs: as the file\n  frequencies: truncate is True\n  logits move by 0.48" in page
    assert "mlx-lm 2: agree in what was compared\n  not compared: install: no network" in page
    assert "to write:\n  llama.cpp: nothing helps" in page
    assert page.strip().endswith("posenc preflight trainer.json same.json --engine llama.cpp mlx-lm")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("trainer.json", "same.json", "--cache", "there"), "cache must come with --engine; got 'there' alone"),
        (("trainer.json", "same.json", "--engine", "no-such"), "engines must be one of 'transformers', "),
        (("manifest.json", "manifest.json", "--engine", "llama.cpp"), "engine must come with a config.json, of which"),
    ],
)
def test_what_engines_need(run, words, said):
    Path("manifest.json").write_text(manifest(from_config(LLAMA)).to_json())
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
