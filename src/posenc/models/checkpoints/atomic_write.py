"""Files and folders written atomically: they appear under their name when they are whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path


def require_unused(name: str, path: Path) -> Path:
    """The path, if nothing is there and its folder exists."""
    if path.exists() or path.is_symlink():
        raise ValueError(f"{name} must not exist yet; {path.name} does. Choose another name: nothing is overwritten.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{name} must be in an existing folder; {path.parent} does not exist. Create it first.")
    return path


def require_space(path: Path, size: int) -> None:
    """Refuse a file that does not fit on the disk."""
    free = shutil.disk_usage(path.absolute().parent).free
    if free < size:
        raise ValueError(
            f"output must fit on the disk; it takes {size:,} bytes and {free:,} are free. Choose another disk."
        )


@contextlib.contextmanager
def atomic_path(path: Path, *, folder: bool) -> Iterator[Path]:
    """A temporary path next to the final one: renamed to it when the block ends well, removed when it does not.

    Names are synced to the disk before the rename, so that a killed process or a power cut leaves the whole or nothing.
    """
    temporary = path.absolute().parent / f".{path.name}.{os.getpid()}.partial"
    try:
        if folder:
            temporary.mkdir()
        yield temporary
        if folder:
            _sync(temporary)
        require_unused("output", path)
        temporary.rename(path)
        _sync(path.absolute().parent)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def write_synced(path: Path, text: bytes) -> None:
    """Write a small file, which is on the disk when this returns."""
    with path.open("wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Put the names in a folder on the disk, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
