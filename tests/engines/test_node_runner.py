"""The runner that starts Node: whatever Node does, one line names the step and says what it did."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from posenc.engines.ask_engine import ask_engine
from posenc.engines.cache_folder import cache_folder
from posenc.engines.engine import Engine, named
from posenc.engines.engine_failure import EngineFailure
from posenc.engines.environments import Environment, environment_of, standing_environment
from posenc.engines.known_engines import known_engines
from posenc.probe import write_probe

CONFIG = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
ANSWERS = "print(json.dumps({'version': '1.0'}), flush=True)\nrequest = json.loads(sys.stdin.readline())\n"
LOADING, RUNNING = "loading the graph in Node: RuntimeError: ", "running the prompts: RuntimeError: "
HANGS = "while True:\n    open(os.environ['ALIVE'], 'w')\n    time.sleep(0.05)"
#: What Node, a script here, does, and what the failure says; the first two by day, the others by night.
NODES = {
    "crashes": ("os.kill(os.getpid(), signal.SIGSEGV)", LOADING + "Node crashed (SIGSEGV)"),
    "crashes at the prompts": (
        ANSWERS + "os.kill(os.getpid(), signal.SIGABRT)",
        RUNNING + "Node crashed (SIGABRT)",
    ),
    "is silent": ("", LOADING + "Node ended with code 0: it printed nothing"),
    "raises": (
        "sys.exit('node:internal\\n  throw new X\\nError [ERR_MODULE_NOT_FOUND]: no module\\n at run')",
        LOADING + "Node ended with code 1: Error [ERR_MODULE_NOT_FOUND]: no module",
    ),
    "prints what is no answer": ("print('Welcome')", LOADING + "Node printed 'Welcome', not its version"),
    "says too little": (ANSWERS + "print('{}')", RUNNING + "Node printed '{}', not its shape"),
    "writes fewer logits": (
        ANSWERS + "open(request['answer'], 'wb').write(bytes(8))\nprint(json.dumps({'shape': [1, 2, 3]}))",
        RUNNING + "Node wrote 2 logits where it said [1, 2, 3]",
    ),
    "writes no logits": (
        ANSWERS + "print(json.dumps({'shape': [1, 2, 3]}))",
        RUNNING + "Node wrote 0 logits where it said [1, 2, 3]",
    ),
    "hangs": (HANGS, "loading the graph in Node: no answer within 8 s; it was ended"),
    "hangs at the prompts": (ANSWERS + HANGS, "running the prompts: no answer within 8 s; it was ended"),
}  # fmt: skip


def failure_of(engine: Engine, environment: Environment, folder: Path) -> str:
    probe = write_probe(CONFIG, folder / "probe", length=8)
    with pytest.raises(EngineFailure) as failure:
        ask_engine(engine, environment, probe, folder / "answer.npz", threading.Event())
    assert "\n" not in str(failure.value)
    assert not (folder / "answer.npz").exists()
    return str(failure.value)


def use_node(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """Let this script be Node."""
    script = folder / "bin" / "node"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nimport json, os, signal, sys, time\n{source}\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")


def without_optimum(folder: Path) -> Environment:
    """An environment whose exporter writes no graph."""
    place = folder / "site" / "optimum" / "exporters" / "onnx"
    place.mkdir(parents=True)
    source = "import pathlib\ndef main_export(probe, folder, **_):\n    pathlib.Path(folder).mkdir(parents=True)\n"
    (place / "__init__.py").write_text(source, encoding="utf-8")
    return Environment(folder / "site", {})


@pytest.mark.skipif(os.name != "posix", reason="Node is a script with a first line that names its program")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if number < 2 else [pytest.mark.nightly]) for number, name in enumerate(NODES)],
)
def test_what_node_does_is_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, says = NODES[name]
    use_node(tmp_path, monkeypatch, source)
    alive = tmp_path / "alive"
    monkeypatch.setenv("ALIVE", str(alive))
    engine = replace(named(known_engines(), "transformers.js"), seconds=8.0 if name.startswith("hangs") else 60.0)
    assert failure_of(engine, without_optimum(tmp_path), tmp_path) == says
    alive.unlink(missing_ok=True)
    time.sleep(0.3 if name.startswith("hangs") else 0.0)
    assert not alive.exists()


def test_a_missing_node_is_told_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    engine = replace(named(known_engines(), "transformers.js"), requires=())
    with pytest.raises(EngineFailure, match="node is not installed here; install Node"):
        environment_of(engine, tmp_path / "cache", threading.Event(), lambda *_: None)
    assert not (tmp_path / "cache").exists()


#: Files of the real packages that are missing, or hold something else, and what the failure says.
HALF_INSTALLED = {
    "no library": ("@huggingface/transformers/dist/transformers.node.mjs", None, "Cannot find module"),
    "half a library": ("@huggingface/transformers/dist/transformers.node.mjs", "import {", "SyntaxError"),
    "no binary": ("onnxruntime-node/dist/binding.js", None, "Cannot find module"),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", HALF_INSTALLED)
def test_half_installed_packages_are_one_line(name: str, tmp_path: Path) -> None:
    engine = named(known_engines(), "transformers.js")
    standing = standing_environment(engine, cache_folder())
    if standing is None or standing.site is None or shutil.which("node") is None:
        pytest.skip("the environment of transformers.js does not stand here")
    site = tmp_path / "site"
    site.mkdir()
    for path in standing.site.iterdir():
        if path.name != "node_modules":
            (site / path.name).symlink_to(path)
    shutil.copytree(standing.site / "node_modules", site / "node_modules")
    where, text, says = HALF_INSTALLED[name]
    broken = site / "node_modules" / where
    broken.unlink()
    if text is not None:
        broken.write_text(text, encoding="utf-8")
    failure = failure_of(engine, Environment(site, {}), tmp_path)
    assert failure.startswith(LOADING + "Node ended with code 1: ")
    assert says in failure
