"""Snippets of the standing's page run as they stand, each in its engine's environment and without posenc; so does what
was transcribed of an engine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from posenc.engines.cache_folder import cache_folder
from posenc.engines.engine import named
from posenc.engines.engine_failure import EngineFailure
from posenc.engines.environments import environment_of
from posenc.engines.known_engines import known_engines

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"
STANDING = Path(__file__).parents[2] / "src" / "posenc" / "explorer" / "standing.json"
SNIPPET = re.compile(
    r"^### ([^\n]*)\n\n((?:Shows [^\n]*\n)+).*?^```python\n(.*?)^```\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL
)
SHOWS = re.compile(r"^Shows (\S+), (\w+): (.*)\.$", re.MULTILINE)
GENERATED, _, SECTION = PAGE.read_text(encoding="utf-8").partition("## Seen without posenc")
SNIPPETS = {title: (code, printed) for title, _, code, printed in SNIPPET.findall(SECTION)}
#: Engine, field and config of each cell, by the snippet that shows it.
SHOWN = {
    title: [(engine, field, model) for engine, field, models in SHOWS.findall(shows) for model in models.split("; ")]
    for title, shows, _, _ in SNIPPET.findall(SECTION)
}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?")
#: Numbers of the page that are errors of float32 may be others on another machine.
ROUNDING = 1e-6


def engine_of(title: str) -> str:
    (name,) = {engine for engine, _, _ in SHOWN[title]}
    return name


def test_every_snippet_is_found_and_names_its_engine() -> None:
    assert len(SNIPPETS) == SECTION.count("```python") >= 20
    assert {engine_of(title) for title in SNIPPETS} <= {engine.name for engine in known_engines()}
    assert not any("posenc" in code for code, _ in SNIPPETS.values())


def test_every_red_cell_of_the_standing_has_a_snippet_and_a_snippet_shows_red_cells_alone() -> None:
    models = json.loads(STANDING.read_text(encoding="utf-8"))["models"]
    red = {
        (name, field, model["name"])
        for model in models
        for name, row in model["engines"].items()
        for field, cell in row["cells"].items()
        if cell["differs"]
    }
    assert {cell for cells in SHOWN.values() for cell in cells} == red
    assert all(f"Without posenc: [{title}](#" in GENERATED for title in SNIPPETS)


def run_in(name: str, code: str, folder: Path) -> str:
    """Output of code that runs in an engine's environment."""
    try:
        engine = named(known_engines(), name)
        environment = environment_of(engine, cache_folder(), threading.Event(), lambda *_: None)
    except EngineFailure as failure:
        pytest.skip(f"{name} cannot be installed here: {failure}")
    variables = {**os.environ, "PYTHONPATH": str(environment.site), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=variables, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize("title", SNIPPETS)
def test_a_snippet_prints_what_the_page_says(title: str, tmp_path: Path) -> None:
    code, printed = SNIPPETS[title]
    done = run_in(engine_of(title), code, tmp_path)
    assert NUMBER.sub("n", done) == NUMBER.sub("n", printed)
    found, said = ([float(number) for number in NUMBER.findall(text)] for text in (done, printed))
    assert found == pytest.approx(said, rel=1e-5, abs=ROUNDING)


#: Builds torchtitan's own attention with parts that do nothing, and prints its softmax scale times √head_dim.
SOFTMAX_FACTORS = """
from types import SimpleNamespace
from torch import nn
from torchtitan.models.deepseek_v3.model import Attention as Latent
from torchtitan.models.gpt_oss.model import Attention

part = SimpleNamespace(build=nn.Identity)
parts = dict.fromkeys(("qkv_linear", "wo", "inner_attention", "wq", "wkv_a", "wkv_b", "kv_norm"), part)
rope = SimpleNamespace(scaling="yarn", rope_factor=32.0, build=nn.Identity)
sizes = {"dim": 64, "head_dim": 64, "n_heads": 8, "n_kv_heads": 8, "sliding_window_size": None}
print(Attention(SimpleNamespace(**parts, **sizes, rope=rope)).softmax_scale * 64**0.5)
sizes |= {"q_lora_rank": 0, "kv_lora_rank": 8, "qk_nope_head_dim": 48, "qk_rope_head_dim": 16, "v_head_dim": 16}
print(Latent(SimpleNamespace(**parts, **sizes, rope=rope, mscale=0.7)).softmax_scale * 64**0.5)
"""


@pytest.mark.nightly
def test_what_is_transcribed_of_torchtitan_is_what_its_classes_compute(tmp_path: Path) -> None:
    """torchtitan/models/gpt_oss/model.py and deepseek_v3/model.py of 0.3.0; its runner states the first."""
    done = run_in("torchtitan", SOFTMAX_FACTORS, tmp_path)
    factors = [float(line) for line in done.split()]
    assert factors == pytest.approx([(0.1 * np.log(32) + 1) ** 2, (0.07 * np.log(32) + 1) ** 2], rel=1e-9)
