"""The page on adding a model: without its lines three types are not read; put into a copy as it says, they are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("transformers")
pytestmark = pytest.mark.parity

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-model.md").read_text(encoding="utf-8")
#: File, the tuple or dict that the code goes into (none for a line of a list), and the code.
STEPS = re.findall(r"In `([^`]+)`, (?:in `(\w+)`|a line):\n\n```\w+\n(.*?)```", PAGE, re.DOTALL)
TYPES = ("internlm3", "roformer", "siglip2_text_model")
TESTS = ("test_models_rotary.py", "test_models_layers.py", "test_models_absolute.py", "test_models_by_hand.py")


def pattern(code: str) -> re.Pattern[str]:
    """The code however its lines are broken and indented, with the comma and the space that follow it."""
    words = code.strip().removesuffix(",").split()
    return re.compile(r"\s*" + r"\s+".join(map(re.escape, words)) + r",?")


def put(path: Path, name: str, code: str) -> None:
    """Code at the beginning of a tuple or dict; a line at the end of a list."""
    text = path.read_text(encoding="utf-8")
    if not name:
        path.write_text(text + code, encoding="utf-8")
        return
    opening = re.search(rf"^{name}\b[^\n({{]*[({{]", text, re.MULTILINE)
    assert opening is not None, f"{path.name} has no {name}"
    code = f"\n{code.rstrip().removesuffix(',')},\n"
    path.write_text(text[: opening.end()] + code + text[opening.end() :], encoding="utf-8")


def run(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(str(root / folder) for folder in ("src", "tests", "quality"))}
    return subprocess.run([sys.executable, *command], cwd=root, env=env, capture_output=True, text=True)


def unread(root: Path) -> list[str]:
    """The types of the page that from_config of a copy does not know."""
    code = f"""
from posenc.models import from_config
for model_type in {TYPES!r}:
    try:
        from_config({{"model_type": model_type}})
    except ValueError as error:
        print(model_type if "must be one that is known here" in str(error) else error)
"""
    return run(root, "-c", code).stdout.split()


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The sources without what the page adds."""
    root = tmp_path_factory.mktemp("copy")
    for folder in ("src/posenc", "tests/model_peers", "tests/parity", "quality"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path, _, code in STEPS:
        text, count = pattern(code).subn("", (root / path).read_text(encoding="utf-8"))
        assert count == 1, f"{path} does not have what the page says: {code}"
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.mark.nightly
def test_the_examples_work_as_written(copy: Path):
    assert unread(copy) == list(TYPES)
    for path, name, code in STEPS:
        put(copy / path, name, code)
    assert unread(copy) == []
    tests = [str(copy / "tests" / "parity" / name) for name in TESTS]
    chosen = ("-k", "internlm3 or roformer or siglip2", "-m", "not nightly")
    ran = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *chosen, *tests)
    assert re.search(r"\b6 passed\b", ran.stdout), ran.stdout


def test_the_files_and_names_of_the_page_exist():
    for path in re.findall(r"`((?:src|tests)/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path
    by_hand = (ROOT / "tests" / "parity" / "test_models_by_hand.py").read_text(encoding="utf-8")
    shown = re.search(r"calls the live function directly:\n\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    assert shown[1] in by_hand
