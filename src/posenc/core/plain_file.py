"""Guarded reading of files: plain ones alone, within a bound of size, JSON within a bound of depth; atomic writing.

A pipe might never send anything, a device might never end, and a deep object breaks whatever walks it. Every message
begins with `name`, the path where no name is given, and ends with `advice`.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

#: How deeply the objects of a JSON file may be nested; those of released models and of results stay below ten levels.
DEEPEST = 64
TOO_DEEP = f"objects are nested too deeply, above {DEEPEST} levels"
NAME_ANOTHER = "Name a file on a disk."
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def plain_size(path: Path, name: str = "", advice: str = NAME_ANOTHER) -> int:
    """Size of a plain file in bytes, without opening it; ValueError where the path is a folder, a pipe or a device."""
    return _size_of(path.stat(), name or str(path), advice)


@contextmanager
def opened(
    path: Path, most: int | None = None, *, name: str = "", advice: str = NAME_ANOTHER
) -> Iterator[BufferedReader]:
    """Open a plain file of at most `most` bytes to read it; ValueError for any other path, OSError as from `open`."""
    name = name or str(path)
    plain_size(path, name, advice)
    with open(path, "rb", opener=_without_waiting) as file:  # Path.open takes no opener
        _check_bytes(_size_of(os.fstat(file.fileno()), name, advice), most, name, advice)  # it may have been replaced
        yield file


def read_bytes(path: Path, most: int, *, name: str = "", advice: str = NAME_ANOTHER) -> bytes:
    """Read a plain file of at most `most` bytes, up to the length it had when it was opened."""
    with opened(path, most, name=name, advice=advice) as file:
        return file.read(os.fstat(file.fileno()).st_size)


def json_of(text: str | bytes) -> Any:
    """Parse JSON; ValueError says briefly why it is invalid, too deeply nested, or has a key twice."""
    try:
        held = json.loads(text.decode("utf-8") if isinstance(text, bytes) else text, object_pairs_hook=unique_keys)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is no UTF-8") from None
    except ValueError as error:
        raise ValueError(str(error).splitlines()[0][:200]) from None
    if is_too_deep(held):
        raise ValueError(TOO_DEEP)
    return held


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dict of a JSON object's (key, value) pairs; ValueError for a repeated key, as JSON leaves it undefined."""
    result = dict(pairs)
    if len(result) != len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice[:80]!r} occurs twice")
    return result


def is_too_deep(data: Any) -> bool:
    """Whether data is nested more than `DEEPEST` levels deep; to be asked before anything prints or walks it."""
    level = _containers([data])
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _containers(each.values() if isinstance(each, Mapping) else each)]
    return bool(level)


def _containers(values: Iterable[Any]) -> list[Any]:
    """Objects and lists among these values."""
    return [value for value in values if isinstance(value, Mapping | list | tuple)]


def _size_of(status: os.stat_result, name: str, advice: str) -> int:
    """Size of a plain file in bytes; ValueError for anything else."""
    if not stat.S_ISREG(status.st_mode):
        kind = next((word for is_kind, word in _KINDS if is_kind(status.st_mode)), "of another kind")
        raise ValueError(f"{name} must be a plain file; it is {kind}. {advice}")
    return status.st_size


def _check_bytes(size: int, most: int | None, name: str, advice: str) -> None:
    """Refuse a file larger than its bound."""
    if most is not None and size > most:
        raise ValueError(f"{name} must be a file of at most {most} bytes; got {size}. {advice}")


def _without_waiting(path: str, flags: int) -> int:
    """Open without blocking (O_NONBLOCK), in case the path has become a pipe since it was checked."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def write_whole(path: Path, data: bytes) -> Path:
    """Write a file atomically, under a temporary name next to it, which is then renamed.

    Args:
        path: Of the file.
        data: Its bytes.

    Returns:
        The path; the file is on disk by then.
    """
    part = path.absolute().with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path
