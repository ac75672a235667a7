"""Look into what `make dist` made, and use it as a stranger would: `make try-dist`.

Wheels and source distributions must hold what they should, and nothing else. Then each Python of this machine installs
posenc from dist/ into an environment of its own outside the clone, with NumPy and without PyTorch, and runs the README.
The Python of this environment does so again with PyTorch and the wheel of the kernels: for the others, the build of
PyTorch for the CPU may be missing. What was not tried is named.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path
from tempfile import TemporaryDirectory

from newer_pythons import usable

ROOT = Path(__file__).parents[1]
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
THIS = f"python{sys.version_info.major}.{sys.version_info.minor}"
TORCH = "torch==2.13.0"
#: Where the metadata of a wheel lies, less its folder.
METADATA = {"METADATA", "WHEEL", "RECORD", "licenses/LICENSE"}
KERNELS = {"posenc_kernels/__init__.py", "posenc_kernels/library.so"}
ALONE = (
    "import importlib.util, posenc, sys; assert posenc.__file__.startswith(sys.prefix), posenc.__file__; "
    "assert importlib.util.find_spec('torch') is None"
)
LOADED = "import posenc.torch; from posenc.kernels import native; print('kernels:', *native.instruction_sets())"


def differences(name: str, held: set[str], wanted: set[str]) -> list[str]:
    """What a distribution lacks, and what it holds that is not wanted."""
    lacking = [f"{name} lacks {path}" for path in sorted(wanted - held)]
    return lacking + [f"{name} must not hold {path}" for path in sorted(held - wanted)]


def links_of_no_address(description: str) -> list[str]:
    """Links and pictures of a description that an index cannot follow."""
    return re.findall(r"\]\((?!https?:)[^)]*\)", description)


def faults_of_wheel(path: Path, code: set[str], more: set[str]) -> list[str]:
    """What is wrong with a wheel that should hold this code and, of metadata, these files besides the usual ones."""
    with zipfile.ZipFile(path) as wheel:
        held = {name for name in wheel.namelist() if not name.endswith("/")}
        (described,) = [name for name in held if name.endswith(".dist-info/METADATA")]
        description = Parser().parsestr(wheel.read(described).decode()).get_payload()
    folder = described.removesuffix("METADATA")
    faults = differences(path.name, held, code | {folder + name for name in METADATA | more})
    return faults + [f"{path.name}: its description has the link {link}" for link in links_of_no_address(description)]


def faults_of_source(path: Path, files: set[str]) -> list[str]:
    """What is wrong with a source distribution that should hold these files of the repository."""
    with tarfile.open(path) as source:
        held = {name.partition("/")[2] for name in source.getnames()}
    return differences(path.name, held, files)


def tracked(folder: str) -> set[str]:
    """Files of the repository in a folder, relative to it."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT / folder, check=True, capture_output=True, text=True).stdout
    return set(listed.split())


def faults(dist: Path) -> list[str]:
    """What is wrong with the contents of everything in dist/."""
    code = {f"posenc/{path}" for path in tracked("src/posenc")}
    plain = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "pyproject.toml"}
    found = faults_of_source(
        only(dist, "posenc-*.tar.gz"), {f"src/{path}" for path in code} | plain | {"PKG-INFO", ".gitignore"}
    )
    return found + faults_of_wheel(only(dist, "posenc-*.whl"), code, {"entry_points.txt"})


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


def run(*words: str | Path, folder: Path) -> None:
    """Run a command outside the clone, where nothing leads back to its sources."""
    print("$", *words, flush=True)
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    subprocess.run(list(map(str, words)), cwd=folder, check=True, env=own)


def try_python(path: str, dist: Path, folder: Path, kernels: bool) -> None:
    """Install what is in dist/ into a new environment of this Python, and run the README in it."""
    run(path, "-m", "venv", folder / "env", folder=folder)
    python = folder / "env" / "bin" / "python"
    install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*install, only(dist, "posenc-*.whl"), folder=folder)
    examples = (python, "-I", ROOT / "quality" / "readme_examples.py", ROOT / "README.md")
    run(python, "-I", "-c", ALONE, folder=folder)
    run(folder / "env" / "bin" / "posenc", "explain", "RoPE(dim=8)", folder=folder)
    run(*examples, "torch", "jax", folder=folder)
    if kernels:
        run(*install, TORCH, only(dist, "posenc_kernels-*.whl"), folder=folder)
        run(python, "-I", "-c", LOADED, folder=folder)
        run(*examples, "jax", folder=folder)
        run(*install, "--force-reinstall", "--no-deps", only(dist, "posenc-*.tar.gz"), folder=folder)
        run(*examples, "jax", folder=folder)


def main() -> int:
    dist = ROOT / "dist"
    found = faults(dist)
    built = bool(list(dist.glob("posenc_kernels-*.whl")))
    if built:
        found += faults_of_wheel(only(dist, "posenc_kernels-*.whl"), KERNELS, {"top_level.txt"})
    print(*found, sep="\n")
    if found:
        return 1
    said = []
    for name in PYTHONS:
        path = sys.executable if name == THIS else usable(name)
        if path is None:
            said.append(f"{name}: not on this machine, so NOT tried")
            continue
        kernels = built and name == THIS
        with TemporaryDirectory() as folder:
            try_python(path, dist, Path(folder), kernels)
        said.append(f"{name}: passed with NumPy alone{' and with the kernels' if kernels else '; kernels NOT tried'}")
    print(*said, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
