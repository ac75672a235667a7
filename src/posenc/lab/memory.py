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
    status = _LINUX / "status"
    lines = status.read_text().splitlines() if status.exists() else []
    if most := [line.split()[1] for line in lines if line.startswith("VmHWM:")]:
        return int(most[0]) * 1024
    if sys.platform == "win32":
        return 0  # not known without a package
    import resource

    greatest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return greatest if sys.platform == "darwin" else greatest * 1024
