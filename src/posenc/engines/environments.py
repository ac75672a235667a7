"""Environments of engines: a folder of packages for each, made when it is first asked for, pinned by hashes.

An environment holds the engine and what only it needs. Its process runs in the running Python and finds everything
else there, torch and NumPy above all: none of these is ever downloaded. Files are downloaded one by one and kept until
all are there, so an interrupted installation goes on where it stopped; the folder gets its name when it is whole.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from posenc.core import plain_file
from posenc.engines.cache_folder import keep_json, kept_json, short_digest
from posenc.engines.engine import Engine, Package, version_of
from posenc.engines.engine_failure import EngineFailure
from posenc.engines.engine_process import run_program
from posenc.engines.npm_packages import npm_command, npm_file, unpack_npm

#: Called with the name of the package, the bytes that are there and the bytes in all (0 where unknown).
Progress = Callable[[str, int, int], None]
RECORD = "environment.json"
#: Folder of what building from source needs, among the downloads.
BUILD = "build"
#: Bytes that must stay free besides, and how much larger packages are unpacked.
SPARE, UNPACKED = 1 << 28, 6
#: How long one download or one installation may take.
SECONDS = 1800.0
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")


@dataclass(frozen=True)
class Environment:
    """Packages that an engine's process finds.

    Attributes:
        site: Folder of its packages; None where the running environment has the engine.
        files: SHA-256 of each file that was installed, by its name.
    """

    site: Path | None
    files: dict[str, str]


def environment_folder(engine: Engine, cache: Path) -> Path:
    """Return the folder of an engine's environment, named after its version, its pins and the Python version."""
    pins = [package.requirement for package in (*engine.packages, *engine.build)]
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    return cache / "environments" / f"{engine.name}-{engine.version}-{python}-{short_digest(pins)[:8]}"


def standing_environment(engine: Engine, cache: Path) -> Environment | None:
    """Return an engine's environment if it is complete, or the running one if it has this version; else None."""
    if engine.reuse and version_of(engine.packages[0].name) == engine.version:
        return Environment(None, {f"{engine.packages[0].name}, RECORD": _record_digest(engine.packages[0].name)})
    folder = environment_folder(engine, cache)
    record = kept_json(folder / RECORD)
    return None if not isinstance(record, dict) else Environment(folder / "site", dict(record["files"]))


def environment_of(engine: Engine, cache: Path, stop: threading.Event, progress: Progress) -> Environment:
    """Return the environment of an engine, after installing it if need be.

    Raises:
        EngineFailure: It cannot be made; the failure names the package and why.
        Stopped: `stop` was set; what was downloaded stays for the next time.
    """
    for module in engine.requires:
        if importlib.util.find_spec(module) is None:
            raise EngineFailure("finding what it runs on", f"{module} is not installed here; pip install {module}")
    for program in engine.programs:
        if shutil.which(program) is None:
            raise EngineFailure("finding what it runs on", f"{program} is not installed here; install Node.js with npm")
    standing = standing_environment(engine, cache)
    if standing is not None:
        return standing
    if not version_of("pip"):  # to look for its module lets setuptools give distutils up, in the whole process
        raise EngineFailure("making its environment", "pip is not installed here; python -m ensurepip")
    try:
        return _made(engine, environment_folder(engine, cache), stop, progress)
    except OSError as error:
        raise EngineFailure("making its environment", f"{error.strerror}: {error.filename}") from None


def _made(engine: Engine, folder: Path, stop: threading.Event, progress: Progress) -> Environment:
    wheels = folder.with_name(f"{folder.name}.downloads")
    wheels.mkdir(parents=True, exist_ok=True)
    packages = (*engine.build, *engine.packages)
    size = sum(package.size for package in packages)
    _require_room(wheels, size * UNPACKED)
    for package in packages:
        if package.from_source:
            _unpacked([_file_of(one, wheels) for one in engine.build], wheels / BUILD, package.name, stop)
        done = sum(file.stat().st_size for file in wheels.iterdir() if file.is_file())
        _download(package, wheels, stop, functools.partial(_told, progress, package.name, done, size))
    part = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    try:
        files = _unpack(engine, wheels, part, stop)
        keep_json(part / RECORD, {"engine": engine.name, "version": engine.version, "files": files})
        _named(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    shutil.rmtree(wheels, ignore_errors=True)
    return Environment(folder / "site", files)


def _told(progress: Progress, name: str, done: int, size: int, here: int) -> None:
    progress(name, done + here, size)


def _named(part: Path, folder: Path) -> None:
    """Rename a finished environment to its final folder, unless another process has made that already."""
    try:
        part.rename(folder)
    except OSError:
        if kept_json(folder / RECORD) is None:
            raise


def _require_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size + SPARE:
        need = (size + SPARE) / 1e6
        raise EngineFailure(
            "making its environment", f"the disk has {free / 1e6:.0f} MB left where {need:.0f} MB are needed"
        )


def _download(package: Package, wheels: Path, stop: threading.Event, progress: Callable[[int], None]) -> None:
    """Let pip or npm download the file of a package, unless it is there from an earlier run."""
    mark = wheels / f"{package.name.replace('/', '-')}-{package.version}.done"
    if mark.exists():
        return
    step = f"downloading {package.name} {package.version}"
    room = (
        wheels / f".{package.name.replace('/', '-')}.part"
    )  # all is written here until whole: its size is the progress
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir()
    command = npm_command(package, room) if package.registry == "npm" else _pip_command(package, room)
    try:
        run_program(
            command, step=step, seconds=SECONDS, stop=stop,
            environment={**_building(package, wheels), "TMPDIR": str(room)},
            watch=lambda: progress(_bytes_below(room)),
        )  # fmt: skip
        for file in (room / "files").iterdir():
            _require_hash(package, file, step)
            file.rename(wheels / file.name)
        mark.touch()
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _pip_command(package: Package, room: Path) -> tuple[str, ...]:
    """Command that lets pip download the file of a package, or build it, into a folder."""
    requirements = room / "requirements.txt"
    requirements.write_text(package.requirement + "\n", encoding="utf-8")
    origin = ("--no-binary", package.name) if package.from_source else ("--only-binary", ":all:")
    hashed = ("--require-hashes",) if package.hashes else ()
    isolated = ("--no-build-isolation",) if package.from_source else ()
    verb, target = ("wheel", "--wheel-dir") if package.from_source else ("download", "--dest")
    options = ("--no-deps", *hashed, *isolated, *origin, target, str(room / "files"))
    return (*PIP, verb, *options, "--requirement", str(requirements))


def _require_hash(package: Package, file: Path, step: str) -> None:
    """Check a file that npm downloaded against its pinned SHA-256; of pip's files, pip has checked the hash."""
    if package.registry == "npm" and package.hashes and _sha256(file) not in package.hashes.values():
        raise EngineFailure(step, f"{file.name} has another SHA-256 than pinned")


def _building(package: Package, wheels: Path) -> dict[str, str]:
    """Environment variables for building a package from source: build tools on PYTHONPATH, no device, its version."""
    if not package.from_source:
        return {}
    name = package.name.upper()
    return {
        "PYTHONPATH": str(wheels / BUILD),
        f"{name}_TARGET_DEVICE": "empty",
        f"{name}_VERSION_OVERRIDE": package.version,
    }


def _bytes_below(folder: Path) -> int:
    """Total bytes of the files below a folder; files that vanish meanwhile are skipped."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(place, name).lstat().st_size
    return total


def _unpack(engine: Engine, wheels: Path, part: Path, stop: threading.Event) -> dict[str, str]:
    """Install the downloaded files into `part`, and return the SHA-256 of each by file name."""
    files = [_file_of(package, wheels) for package in engine.packages]
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    _unpacked([file for file in files if file.suffix == ".whl"], part / "site", engine.name, stop)
    for package, file in zip(engine.packages, files, strict=True):
        if package.registry == "npm":
            unpack_npm(file, part / "site" / "node_modules" / package.name)
    return {file.name: _sha256(file) for file in files}


def _sha256(path: Path) -> str:
    with plain_file.opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpacked(files: list[Path], folder: Path, name: str, stop: threading.Event) -> None:
    """Let pip install files into a folder, unless it is there."""
    if folder.is_dir() or not files:
        return
    command = (*PIP, "install", "--no-deps", "--no-index", "--no-compile", "--target", str(folder))
    run_program((*command, *map(str, files)), step=f"installing {name}", seconds=SECONDS, stop=stop)


def _file_of(package: Package, wheels: Path) -> Path:
    """The downloaded file of a package."""
    if package.registry == "npm":
        return npm_file(package, wheels)
    start = f"{package.name.lower().replace('-', '_')}-{package.version}"
    for file in sorted(wheels.iterdir()):
        if file.name.lower().replace("-", "_").startswith(start.replace("-", "_")) and file.suffix == ".whl":
            return file
    raise EngineFailure(f"installing {package.name}", "pip downloaded no file of that name")


def _record_digest(name: str) -> str:
    """Hash of the list of an installed package's files and their hashes."""
    record = importlib.metadata.distribution(name).read_text("RECORD") or ""
    return hashlib.sha256(record.encode()).hexdigest()
