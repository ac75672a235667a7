"""The page on adding an encoding: followed in a copy of the repository, its three encodings pass every gate."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-an-encoding.md").read_text(encoding="utf-8")
#: New files, code above a line of a file, and lines below a line of a file.
FILES = re.findall(r"^In `([^`]+)`:\n\n```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
ABOVE = re.findall(r"^In `([^`]+)`, above the line `([^`]+)`:\n\n```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
BELOW = re.findall(r"^\| `((?:src|tests)/[^`]+)` \| `([^`]+)` \| `([^`]+)` \|$", PAGE, re.MULTILINE)
GATES = re.findall(r"^\| [\w ]+ \| `(tests/[\w/]+\.py)` \|", PAGE, re.MULTILINE)
#: Words that choose the tests of the three encodings in files that test every encoding.
ENCODINGS = "Gaussian or Hierarchical or PeriodicRoPE"
COPIED = (
    "src",
    "tests",
    "docs",
    "benchmarks",
    "golden",
    "native",
    "quality",
    "README.md",
    "Makefile",
    "mkdocs.yml",
    "pyproject.toml",
)


def insert(path: Path, line: str, code: str, *, below: bool) -> None:
    """Code below or above the one line of a file that reads as the page says, whatever its indentation."""
    lines = path.read_text(encoding="utf-8").splitlines()
    at = [number for number, text in enumerate(lines) if text.strip() == line]
    assert at, f"{path.name} must have the line {line!r}; it has none. Name another line on the page."
    indent = lines[at[0]][: -len(line)] if below else ""
    lines[at[0] + below : at[0] + below] = [indent + text for text in code.rstrip("\n").split("\n")]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(root: Path, *arguments: str, ok: bool = True) -> str:
    """What a Python module or file of the copy prints."""
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, *arguments], cwd=root, env=env, capture_output=True, text=True)
    assert (done.returncode == 0) == ok, f"{' '.join(arguments)}\n{done.stdout[-6000:]}{done.stderr[-3000:]}"
    return done.stdout


def pytest_of(root: Path, *arguments: str) -> str:
    return run(root, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *arguments)


@pytest.fixture(scope="module")
def followed(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "build", "*.so"))
        else:
            shutil.copy(ROOT / name, root / name)
    for path, code in FILES:
        assert not (root / path).exists(), f"{path} exists already: choose another example"
        (root / path).write_text(code, encoding="utf-8")
    for path, line, code in ABOVE:
        insert(root / path, line, code, below=False)
    for path, line, code in BELOW:
        insert(root / path, line, code, below=True)
    run(root, "tests/models/pin_fingerprints.py")
    run(root, "-m", "ruff", "check", "--quiet", "--fix", "src", "tests")
    run(root, "-m", "ruff", "format", "--quiet", "src", "tests")
    return root


def test_the_page_has_three_encodings_and_their_gates() -> None:
    assert len(FILES) == 6
    assert len(ABOVE) == 1
    assert len(BELOW) == 16
    assert len(GATES) == 12
    for path in [*GATES, *re.findall(r"`((?:src|tests|docs)/[\w/]+\.(?:py|pyi))`", PAGE)]:
        assert (ROOT / path).exists() or path in dict(FILES), path


def test_the_examples_of_the_page_give_what_they_say(followed: Path) -> None:
    """Each encoding is public, its docstring's example holds, and its oracle and its worked steps agree with it."""
    sources = [path for path, _ in FILES if path.startswith("src/")]
    pytest_of(followed, "--doctest-modules", *sources)
    names = run(followed, "-c", "import posenc; print(posenc.Gaussian, posenc.Hierarchical, posenc.PeriodicRoPE)")
    assert names.count(str(followed)) == 0  # classes, by module
    assert "posenc.encodings.biases.gaussian.Gaussian" in names
    gates = ["tests/oracles/test_oracles.py", "tests/inspect/test_worked.py"]
    assert re.search(r"\b\d\d passed\b", pytest_of(followed, "-k", f"({ENCODINGS}) and not jax", *gates))


@pytest.mark.nightly
def test_every_gate_of_the_page_is_green(followed: Path) -> None:
    run(followed, "docs/scripts/generate.py")
    run(followed, "docs/scripts/draw.py")
    run(followed, "-m", "ruff", "check", "src", "tests", "docs")
    walked = {path for path in GATES if path.split("/")[1] in ("architecture", "docs", "encodings")}
    pytest_of(followed, *sorted(walked))
    chosen = f"{ENCODINGS} or pinned or keeps_its_fingerprint or every_row"
    pytest_of(followed, "-m", "nightly or not nightly", "-k", chosen, *sorted(set(GATES) - walked))


@pytest.mark.nightly
def test_a_planted_mistake_fails_at_the_oracle(followed: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(followed, broken)
    path = broken / "src" / "posenc" / "encodings" / "biases" / "gaussian.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("0.0 - (distance / sigma) ** 2 / 2", "(distance / sigma) ** 2 / 2"), encoding="utf-8")
    arguments = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-k", "Gaussian and numpy")
    assert "failed" in run(broken, *arguments, "tests/oracles/test_oracles.py", ok=False)
