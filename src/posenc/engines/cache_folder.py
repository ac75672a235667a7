"""Where environments and answers are kept: the platform's cache folder, or one that the caller names."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from posenc.core import plain_file

#: Bytes of the largest answer that is kept.
LARGEST = 1 << 24


def cache_folder(folder: Path | None = None) -> Path:
    """Return the folder of the cache, which need not exist yet.

    Args:
        folder: The one that the caller names; that of the platform if None.

    Returns:
        `folder`, or posenc's part of ~/.cache (Linux, or $XDG_CACHE_HOME), ~/Library/Caches or %LOCALAPPDATA%.
    """
    if folder is not None:
        return folder.expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "posenc" / "engines"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "posenc" / "engines"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "posenc" / "engines"


def short_digest(*parts: object) -> str:
    """Return a short hash of plain values, for names of files in the cache."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def source_digest(folders: Iterable[str]) -> str:
    """Return a hash of the Python and JSON files in some folders of posenc, so that new code gets new cache keys."""
    root, found = Path(__file__).parent.parent, hashlib.sha256()
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".py", ".json"):
                found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:24]


def folder_digest(folder: Path) -> str:
    """Return a hash of the files in a folder."""
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        found.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:24]


def kept_json(path: Path) -> Any:
    """Return the content of a JSON file of the cache; None where there is none, or it is damaged."""
    try:
        return plain_file.json_of(plain_file.read_bytes(path, LARGEST))
    except (ValueError, OSError):
        return None


def keep_json(path: Path, value: Any) -> None:
    """Write a JSON file of the cache atomically.

    Raises:
        OSError: The disk is full, or the folder cannot be written.
    """
    from posenc.models.checkpoints.conversion import write_synced

    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        write_synced(part, json.dumps(value, indent=1, sort_keys=True).encode())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
