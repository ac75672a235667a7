"""The tests with the lowest version of everything that posenc allows but torch: `make oldest`.

An environment of its own, in build/oldest, holds the lower bound of each requirement in pyproject.toml, or the lowest
version above it that the bounds of other requirements allow. It runs the tests that need no peer, no browser and no
night, and the command line; what fails there says that a bound is too low.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "oldest"
PYTHON = FOLDER / "bin" / "python"

#: Extras whose bounds are tried; clusters and trackers are tried at one version only, by the nightly tests.
EXTRAS = ("jax", "plot", "lab", "models", "explore")
#: Old versions warn of each other.
WORDS = ("-q", "-W", "ignore::DeprecationWarning", "-m", "not nightly and not browser and not parity")
#: Folders of tests that need what these extras bring, and no live peer.
FOLDERS = ("core", "hostile", "encodings", "inspect", "plot", "models", "cli", "explorer")


def lowest(requirement: str) -> str:
    """The requirement at its lower bound: "numpy>=2.0" becomes "numpy==2.0"."""
    return re.sub(r">=", "==", requirement.partition(";")[0].strip())


def requirements() -> list[str]:
    """The lower bounds of the package itself and of the extras, without those that name the package again or torch."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]
    return [lowest(one) for one in dict.fromkeys(wanted) if not one.startswith(("posenc", "torch"))]


def run(*words: str | Path) -> int:
    print("$", *words, flush=True)
    return subprocess.run(list(map(str, words)), cwd=ROOT, check=False).returncode


def main() -> int:
    """Make the environment where it is missing, and run the tests in it; the exit code of the first step that fails."""
    steps: list[list[str | Path]] = []
    if not PYTHON.exists():
        steps.append([sys.executable, "-m", "venv", FOLDER])
    install = [PYTHON, "-m", "pip", "install", "--quiet"]
    steps += [
        [*install, "torch==2.13.0"],
        [*install, *requirements(), "pytest>=8", "mpmath>=1.3", "hypothesis>=6.100"],
        [*install, "--no-deps", "--editable", ROOT],
        [PYTHON, "-m", "posenc", "list"],
        [PYTHON, "-m", "pytest", *WORDS, *(f"tests/{one}" for one in FOLDERS)],
    ]
    return next((code for code in (run(*step) for step in steps) if code), 0)


if __name__ == "__main__":
    sys.exit(main())
