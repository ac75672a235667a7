"""Packages of npm in an engine's environment: each is one file, downloaded without what it depends on."""

from __future__ import annotations

import gzip
import shutil
import sys
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from posenc.core import plain_file
from posenc.engines.engine import Package
from posenc.engines.engine_failure import EngineFailure

#: Platforms as folders of binaries are named; those of others are left out.
PLATFORMS = frozenset({"linux", "darwin", "win32"})


def npm_command(package: Package, room: Path) -> tuple[str, ...]:
    """Build the npm command that downloads a package's file to `room`/files, with its cache below `room` too.

    Raises:
        EngineFailure: npm is not installed.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise EngineFailure(f"downloading {package.name} {package.version}", "npm is not installed here")
    target = room / "files"
    target.mkdir()
    places = ("--pack-destination", str(target), "--cache", str(room / "cache"))
    quiet = ("--loglevel=error", "--logs-max=0", "--ignore-scripts", "--no-update-notifier")
    return (npm, "pack", *places, *quiet, f"{package.name}@{package.version}")


def npm_file(package: Package, folder: Path) -> Path:
    """Return the downloaded .tgz of a package; npm drops the @ of a scope and writes its slash as a dash.

    Raises:
        EngineFailure: It is not there.
    """
    path = folder / f"{package.name.removeprefix('@').replace('/', '-')}-{package.version}.tgz"
    if not path.is_file():
        raise EngineFailure(f"installing {package.name}", "npm downloaded no file of that name")
    return path


def unpack_npm(file: Path, folder: Path) -> None:
    """Unpack the regular files of a package into a folder, without binaries of other platforms.

    Raises:
        EngineFailure: The file is no archive, or names places outside the folder.
    """
    others = PLATFORMS - {sys.platform}
    try:
        with plain_file.opened(file) as packed, tarfile.open(fileobj=packed) as archive:
            for member in archive:
                parts = PurePosixPath(member.name).parts[1:]  # the first is a folder that holds all
                if not member.isfile() or others & set(parts[:-1]):
                    continue
                if not parts or ".." in parts:
                    raise EngineFailure(f"installing {file.name}", f"it holds a file outside: {member.name}")
                content = archive.extractfile(member)
                target = folder.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(b"" if content is None else content.read())
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise EngineFailure(f"installing {file.name}", f"the file is damaged: {error}") from None
