"""The files of this checkout: one name for all their contents, and a copy to work in."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "quality"

#: What decides how tests end. What the instruments write lies in quality/, and is left out.
DECISIVE = ("src", "tests", "docs", "benchmarks", "golden", "native", "README.md", "pyproject.toml", "constraints.txt")


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def commit() -> str:
    """The commit that this checkout is at, with a plus where something is not committed."""
    changed = git("status", "--porcelain", "--", *DECISIVE).strip()
    return git("rev-parse", "HEAD").strip() + ("+" if changed else "")


def files() -> list[str]:
    """Every file that git tracks or would take, next to ROOT."""
    names = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return sorted({name for name in names if name and (ROOT / name).is_file()})


def contents() -> str:
    """One name for the contents of all files that decide how tests end."""
    digest = hashlib.sha256()
    for name in files():
        if name.split("/")[0] in DECISIVE:
            digest.update(name.encode() + b"\0" + hashlib.sha256((ROOT / name).read_bytes()).digest())
    return digest.hexdigest()[:16]


def copy_to(folder: Path) -> None:
    """All files of the checkout, in `folder`, which is made anew; git's own folder is shared, for tests that ask
    git."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    for shared in (".git", ".venv"):
        (folder / shared).symlink_to(ROOT / shared)


def state(name: str) -> Path:
    """The folder where a run of this name keeps its parts; emptied when the contents are not those it was begun
    with."""
    folder, now = BUILD / name, contents()
    begun = folder / "contents"
    if not begun.exists() or begun.read_text() != now:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        begun.write_text(now)
    return folder


def environment(tree: Path, data: Path) -> dict[str, str]:
    """That of this process, with the sources of `tree` and our plugin first, one thread a worker, and coverage in
    `data`."""
    places = [str(tree / "src"), str(ROOT / "quality"), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(filter(None, places))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "COVERAGE_FILE": str(data)}
