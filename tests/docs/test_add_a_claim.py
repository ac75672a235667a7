"""The page on adding a claim: its claim is written into a copy of the repository, filed, and passes every gate."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from posenc.lab.claims import claims_on_training

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-claim.md").read_text(encoding="utf-8")
((PLACE, CODE),) = re.findall(r"^In `([^`]+)`, at its end:\n\n```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [line.split()[1:] for line in re.findall(r"^\$ (python .*)$", PAGE, re.MULTILINE)]
GATES = re.findall(r"^\| .* \| `(tests/[\w/]+\.py)` \|", PAGE, re.MULTILINE)
#: Folders and files that the gates and the generator read.
COPIED = ("src", "tests", "docs", "benchmarks", "golden", "quality", "pyproject.toml", "README.md", "mkdocs.yml")
(NAME,) = re.findall(r"^def (\w+)\(", CODE, re.MULTILINE)


def run(root: Path, *arguments: str, code: int = 0) -> str:
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, *arguments], cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == code, f"{' '.join(arguments)}\n{done.stdout[-4000:]}{done.stderr[-3000:]}"
    return done.stdout


def test_the_page_shows_what_it_names():
    assert [command[:3] for command in COMMANDS] == [["-m", "posenc", "claims"], ["docs/scripts/generate.py"]]
    assert COMMANDS[0][3] == NAME
    assert GATES == ["tests/lab/test_claims.py", "tests/mission/test_claims_of_the_sources.py"]
    source = Path(claims_on_training.__file__).read_text(encoding="utf-8")
    shown = PAGE[PAGE.index("rotary_converges_faster = trained(") :].split("\n)\n```")[0]
    assert shown in source


@pytest.mark.nightly
def test_a_newcomer_comes_to_green(tmp_path):
    for name in (
        "src",
        "tests",
        "docs",
        "pyproject.toml",
        "README.md",
        "mkdocs.yml",
        "benchmarks",
        "golden",
        "quality",
    ):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    with (tmp_path / PLACE).open("a", encoding="utf-8") as file:
        file.write(f"\n\n{CODE}")
    gate = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-m", "not nightly"]
    assert NAME in run(tmp_path, *gate, GATES[0], code=1)  # nothing is filed yet
    for command in COMMANDS:
        run(tmp_path, *command)
    said = run(tmp_path, "-m", "posenc", "claims", NAME)
    assert f"{NAME}: supported" in said
    assert "Press et al. 2022" in said
    run(tmp_path, "-m", "ruff", "check", PLACE)
    run(tmp_path, "-m", "ruff", "format", "--check", PLACE)
    for test in GATES:
        run(tmp_path, *gate, test)
