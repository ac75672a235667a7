"""Snippets of the standing's page run as they stand, each in its engine's environment and without posenc."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from posenc.engines.cache_folder import cache_folder
from posenc.engines.engine import named
from posenc.engines.engine_failure import EngineFailure
from posenc.engines.environments import environment_of
from posenc.engines.known_engines import known_engines

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"
SNIPPET = re.compile(r"^\*\*([^*\n]*?)\.?\*\*.*?^```python\n(.*?)^```\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
SECTION = PAGE.read_text(encoding="utf-8").partition("## Seen without posenc")[2]
SNIPPETS = {title: (code, printed) for title, code, printed in SNIPPET.findall(SECTION)}
#: The engine that a title ends with, as the page calls it.
ENGINES = {
    "mlx-lm": "mlx-lm",
    "llama.cpp": "llama.cpp",
    "keras-hub": "keras-hub",
    "transformers 4": "transformers-4",
    "CTranslate2": "ctranslate2",
}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?")
#: Numbers of the page that are errors of float32 may be others on another machine.
ROUNDING = 1e-6


def engine_of(title: str) -> str:
    return next(name for words, name in ENGINES.items() if title.endswith(f"in {words}"))


def test_every_snippet_is_found_and_names_its_engine() -> None:
    assert len(SNIPPETS) == SECTION.count("```python") >= 8
    assert {engine_of(title) for title in SNIPPETS} <= {engine.name for engine in known_engines()}
    assert not any("posenc" in code for code, _ in SNIPPETS.values())


@pytest.mark.nightly
@pytest.mark.parametrize("title", SNIPPETS)
def test_a_snippet_prints_what_the_page_says(title: str, tmp_path: Path) -> None:
    code, printed = SNIPPETS[title]
    try:
        engine = named(known_engines(), engine_of(title))
        environment = environment_of(engine, cache_folder(), threading.Event(), lambda *_: None)
    except EngineFailure as failure:
        pytest.skip(f"{title}: its engine cannot be installed here: {failure}")
    variables = {**os.environ, "PYTHONPATH": str(environment.site), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=variables, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert NUMBER.sub("n", done.stdout) == NUMBER.sub("n", printed)
    found, said = ([float(number) for number in NUMBER.findall(text)] for text in (done.stdout, printed))
    assert found == pytest.approx(said, rel=1e-5, abs=ROUNDING)
