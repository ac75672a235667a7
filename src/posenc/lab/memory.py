"""The most memory that this process held."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

_LINUX = Path("/proc/self")


def forget_peak() -> None:
    """Begin to count anew, on Linux; elsewhere the peak stays that of the whole process."""
    # A sandbox may forbid it; the peak is then that of the whole process.
    with contextlib.suppress(OSError):
        if (_LINUX / "clear_refs").exists():
            (_LINUX / "clear_refs").write_text("5")


def peak() -> int:
    """Bytes of memory that the process held at most."""
    if (most := _status("VmHWM:")) is not None:
        return most
    if sys.platform == "win32":
        return 0  # not known without a package
    import resource

    greatest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return greatest if sys.platform == "darwin" else greatest * 1024


def _status(name: str) -> int | None:
    """A size that Linux keeps of a process."""
    if not (_LINUX / "status").exists():
        return None
    lines = (_LINUX / "status").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), None)
