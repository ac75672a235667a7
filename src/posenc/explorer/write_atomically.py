"""Atomic writing of pages: a reader sees the old file or the new one, never a partial one."""

from __future__ import annotations

import os
from pathlib import Path

from posenc.core import validation
from posenc.core.plain_file import write_whole


def write_atomically(path: str | os.PathLike[str], text: str) -> Path:
    """Write text under a temporary name next to `path`, which then takes its place; returns the path."""
    return write_whole(page_path("path", path), text.encode())


def page_path(name: str, path: str | os.PathLike[str]) -> Path:
    """Check that `path` can be written as a file, and return it; errors name the argument `name`."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path) or "\0" in str(path):
        raise TypeError(f"{name} must name a file; got {validation.shown(path)}. Give 'report.html', say.")
    target = Path(path)
    if target.is_dir() or not target.name:
        raise ValueError(f"{name} must name a file; got the folder {str(target)!r}. Add a file name.")
    if target.is_symlink():
        raise ValueError(f"{name} must not be a symbolic link; got {str(target)!r}. Name the file itself.")
    if not target.parent.is_dir():
        raise ValueError(f"{name} must be in an existing folder; got {str(target)!r}. Create the folder first.")
    return target
