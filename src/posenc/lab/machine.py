"""The machine of a run: its device of PyTorch, its memory, and settings that give equal numbers."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import torch

RULE = "device must be cpu, cuda, cuda:NUMBER or mps"
_LINUX = Path("/proc/self")


def check_device(name: str) -> None:
    """Check that PyTorch has a device on this machine.

    Args:
        name: "cpu", "cuda", "cuda:NUMBER" or "mps".

    Raises:
        ValueError: The name is none of these, or PyTorch finds no such device.

    Example:
        >>> check_device("cpu")
    """
    kind, colon, number = name.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (colon and (kind != "cuda" or not number.isdecimal())):
        raise ValueError(f"{RULE}; got {name!r}. Write cuda, say.")
    found = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    found += ["mps"] if torch.backends.mps.is_available() else []
    if kind not in found or int(number or 0) >= max(1, torch.cuda.device_count()):
        raise ValueError(
            f"device must be one that PyTorch finds on this machine, {' or '.join(found)}; got {name!r}. Leave it out, "
            "or install the PyTorch for that device."
        )


def described(name: str) -> str:
    """Name of a device in results: a GPU by its model."""
    return torch.cuda.get_device_name(name) if name.startswith("cuda") else name


def forget_peak() -> None:
    """Restart the measurement of peak memory on Linux.

    Elsewhere the peak stays that of the whole process.
    """
    # A sandbox may forbid it; the peak is then that of the whole process.
    with contextlib.suppress(OSError):
        if (_LINUX / "clear_refs").exists():
            (_LINUX / "clear_refs").write_text("5")


def peak() -> int:
    """Largest amount of memory that this process held, in bytes.

    Returns:
        Bytes, or 0 on Windows, where no standard module knows.
    """
    status = _LINUX / "status"
    lines = status.read_text().splitlines() if status.exists() else []
    if most := [line.split()[1] for line in lines if line.startswith("VmHWM:")]:
        return int(most[0]) * 1024
    if sys.platform == "win32":
        return 0  # not known without a package
    import resource

    greatest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return greatest if sys.platform == "darwin" else greatest * 1024


def reproducible(device: str = "cpu") -> None:
    """Make equal experiments give equal numbers: one thread, and no kernel whose sums depend on timing.

    This holds for the whole process. On an accelerator, which lacks some such kernels, PyTorch warns and takes the
    others.

    Args:
        device: Of PyTorch.
    """
    torch.set_num_threads(1)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS refuses, or sums in any order
    torch.use_deterministic_algorithms(True, warn_only=device != "cpu")
    # Filling memory that is about to be written is a help in finding bugs, at 6% of the time.
    torch.utils.deterministic.fill_uninitialized_memory = False
