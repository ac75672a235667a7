"""Types that check: what two type checkers say of a user's right and wrong code, with posenc installed from a wheel."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
WRONG = {number for number, line in enumerate((HERE / "wrong.py").read_text().splitlines(), 1) if "# wrong" in line}

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with posenc from a wheel; the other packages are those of this environment."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "environment"], check=True)
    site = next((folder / "environment").glob("lib/python*/site-packages"))
    (wheel,) = folder.glob("posenc-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", site, wheel], check=True)
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "environment" / "bin" / "python"


def said_by_mypy(python: Path, name: str) -> set[int]:
    """The lines of a file that mypy finds fault with."""
    words = [
        "--python-executable",
        python,
        "--no-incremental",
        "--ignore-missing-imports",
        "--config-file=",
        HERE / name,
    ]
    out = subprocess.run(
        [sys.executable, "-m", "mypy", *words], capture_output=True, text=True, check=False, cwd=python.parent
    )
    assert out.returncode in (0, 1), out.stderr
    return {int(line) for line in re.findall(rf"{name}:(\d+): error", out.stdout)}


def said_by_basedpyright(python: Path, name: str) -> set[int]:
    """The lines of a file that basedpyright finds an error in, in its standard mode."""
    config = python.parent / "pyrightconfig.json"
    config.write_text(json.dumps({"typeCheckingMode": "standard", "include": [str(HERE / name)]}))
    words = ["--pythonpath", python, "--project", config, "--outputjson"]
    out = subprocess.run([sys.executable, "-m", "basedpyright", *words], capture_output=True, text=True, check=False)
    found = json.loads(out.stdout)["generalDiagnostics"]
    return {one["range"]["start"]["line"] + 1 for one in found if one["severity"] == "error"}


@pytest.mark.parametrize("said_by", [said_by_mypy, said_by_basedpyright])
def test_mistakes_are_found_and_right_code_is_not_blamed(python: Path, said_by: object) -> None:
    assert callable(said_by)
    assert said_by(python, "right.py") == set()
    assert said_by(python, "wrong.py") == WRONG
