"""The page on adding a mistake: what it says is done in a copy of the sources, and its planted cases are then named."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-mistake.md").read_text(encoding="utf-8")
#: File, where in it, the name that marks the place, and the code.
STEPS = re.findall(r"In `([^`]+)`, (at the end of|above) `(\w+)`:\n\n```python\n(.*?)```", PAGE, re.DOTALL)
CASES = ["logits of a kernel that uses exp2", "queries past the cache"]
#: Words that choose these cases, and the test that every mistake is planted in each of three banks.
CHOSEN = "exp2 or past or mistake_is_planted"


def done(path: Path, where: str, name: str, code: str) -> None:
    """The code above the definition of a name, or before the bracket that closes it."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if re.match(rf"{name}\b", line))
    if where == "above":
        code = f"{code}\n\n"
    else:
        code = f"{code.rstrip().removesuffix(',')},\n"
        at = next(number for number in range(at, len(lines)) if lines[number].startswith((")", "}")))
    path.write_text("".join([*lines[:at], code, *lines[at:]]), encoding="utf-8")


def planted(root: Path) -> subprocess.CompletedProcess[str]:
    """The planted cases of the page, and the test that every mistake is planted, run in a copy."""
    names = ["test_rotations.py", "test_distance_biases.py", "test_every_mistake.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root / 'tests'}"}
    tests = [str(root / "tests" / "diagnosis" / name) for name in names]
    return subprocess.run([*command, "-k", CHOSEN, *tests], cwd=root, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src" / "posenc", root / "src" / "posenc", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests" / "diagnosis", root / "tests" / "diagnosis")
    shutil.copy(ROOT / "tests" / "effort.py", root / "tests")
    return root


def test_the_page_has_rows_and_cases_for_each_example():
    assert [Path(path).name for path, *_ in STEPS] == [
        "mistakes_runtime.py",
        "test_rotations.py",
        "mistakes_bias.py",
        "mistakes_bias.py",
        "test_distance_biases.py",
    ]
    assert all(f'"{case}": (' in PAGE for case in CASES)


@pytest.mark.nightly
def test_the_examples_work_as_written(copy):
    """The cases alone fail; with their rows they are named."""
    for path, *step in STEPS:
        if path.startswith("tests/"):
            done(copy / path, *step)
    before = planted(copy)
    assert re.search(r"\b2 failed\b", before.stdout), before.stdout
    assert all(case in before.stdout for case in CASES)
    for path, *step in STEPS:
        if not path.startswith("tests/"):
            done(copy / path, *step)
    after = planted(copy)
    assert after.returncode == 0, after.stdout
    assert re.search(r"\b5 passed\b", after.stdout), after.stdout


def test_the_places_of_the_table_exist():
    for path in re.findall(r"`((?:src|tests)/[\w/.*]+)`", PAGE):
        assert list(ROOT.glob(path)), path
