"""Source distributions and wheels of posenc and posenc-kernels, checked, into dist/: `make dist`.

Each wheel is built from its source distribution. Two runs on one commit give the same bytes: dates are those of the
commit, or of SOURCE_DATE_EPOCH. The kernels are compiled against the PyTorch of this environment, so no other is
fetched; their wheel has a manylinux tag and leaves PyTorch's own libraries out.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
#: What building leaves behind.
LEFT = shutil.ignore_patterns("build", "*.so", "*.egg-info", "__pycache__")


def environment() -> dict[str, str]:
    """This one, with the date of every file, the tools of this Python first, and no folder of this machine in code."""
    date = os.environ.get("SOURCE_DATE_EPOCH")
    if date is None:
        asked = ["git", "log", "-1", "--format=%ct"]
        date = subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    tools = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    packages = Path(str(distribution("torch").locate_file("")))
    flags = dict.fromkeys(("CFLAGS", "CXXFLAGS"), f"-g0 -ffile-prefix-map={packages}/=")
    return {**os.environ, **flags, "SOURCE_DATE_EPOCH": date, "PATH": tools}


def run(*words: str | Path) -> None:
    print("$", *words, flush=True)
    subprocess.run(list(map(str, words)), check=True, env=environment())


def rewrite_source(path: Path, date: int) -> None:
    """Write a source distribution again without what setuptools leaves of this machine: times, owners, modes, order."""
    with tarfile.open(path) as old:
        held = {each.name: file.read() for each in old.getmembers() if (file := old.extractfile(each))}
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as new:
        for name, content in sorted(held.items()):
            plain = tarfile.TarInfo(name)
            plain.size, plain.mtime, plain.mode = len(content), date, 0o644
            new.addfile(plain, fileobj=io.BytesIO(content))
    path.write_bytes(gzip.compress(written.getvalue(), mtime=date))


def make_kernels(folder: Path) -> None:
    """Build posenc-kernels from a copy without old builds; its wheel is made fit for other Linux systems."""
    shutil.copytree(ROOT / "native", folder / "native", ignore=LEFT)
    made = folder / "made"
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", made, folder / "native")
    (source,), (wheel,) = made.glob("*.tar.gz"), made.glob("*.whl")
    rewrite_source(source, int(environment()["SOURCE_DATE_EPOCH"]))
    shutil.copy(source, DIST)
    if sys.platform == "linux":
        left_out = ("--exclude", "libtorch*.so", "--exclude", "libc10.so")
        run(sys.executable, "-m", "auditwheel", "repair", *left_out, "--wheel-dir", DIST, wheel)
    else:
        shutil.copy(wheel, DIST)


def main() -> int:
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST, ROOT)
    if shutil.which(os.environ.get("CXX", "g++")):
        with TemporaryDirectory() as folder:
            make_kernels(Path(folder))
    else:
        print("no compiler: posenc-kernels NOT built")
    made = sorted(DIST.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *made)
    print(*(f"{path.stat().st_size:>9,} bytes  dist/{path.name}" for path in made), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
