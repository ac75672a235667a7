"""The mathematics, the readers of models and first use from threads with each newer Python: `make pythons`.

An environment for each lies in build/; it holds NumPy, what the package itself requires, and pytest, so that a version
that torch or JAX do not support yet is tried all the same. Pythons that are not there are named.
`make numpy` names the one to take.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("python3.12", "python3.13", "python3.14")
#: Run from the sources of the package: every example of it that needs NumPy alone.
DOCTESTS = ("-q", "--doctest-modules", "--ignore-glob=*/onnx.py", "-p", "no:cacheprovider", "-c", os.devnull)
EXAMPLES = ("core", "phase", "positions", "frequencies", "encodings", "compose", "models", "learn")


def usable(name: str) -> str | None:
    """The interpreter of this name that starts: on the path, or one that pyenv keeps without having it switched on."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{name.removeprefix('python')}.*/bin/python"))
    found = [path for path in (shutil.which(name), *map(str, kept)) if path]
    return next((path for path in found if not subprocess.run([path, "-c", ""], capture_output=True).returncode), None)


def tried(name: str, path: str) -> int:
    """Make the environment of this Python where it is missing, and run the examples; the first exit code above 0."""
    folder = ROOT / "build" / Path(name).name
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    steps: list[list[str | Path]] = [] if python.exists() else [[path, "-m", "venv", folder]]
    steps += [
        [python, "-m", "pip", "install", "--quiet", "pytest>=8", "mpmath>=1.3", "--editable", ROOT],
        [python, "-m", "posenc", "list"],
        *([python, ROOT / "tests" / "hostile" / "first_use.py", str(seed)] for seed in range(5)),
        [python, "-m", "pytest", *DOCTESTS, "--rootdir", ROOT, *(ROOT / "src" / "posenc" / room for room in EXAMPLES)],
    ]
    for step in steps:
        print("$", *step, flush=True)
        code = subprocess.run(list(map(str, step)), cwd=ROOT, check=False).returncode
        if code:
            return code
    return 0


def main(*names: str) -> int:
    codes = {}
    for name in names or PYTHONS:
        path = usable(name)
        if path is None:
            print(f"{name}: not on this machine, so not tried")
        else:
            codes[name] = tried(name, path)
    print("; ".join(f"{name}: {'passed' if code == 0 else f'failed with {code}'}" for name, code in codes.items()))
    return max(codes.values(), default=int(bool(names)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
