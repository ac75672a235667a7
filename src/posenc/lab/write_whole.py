"""Writing files atomically."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


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
