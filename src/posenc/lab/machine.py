"""The machine that a run is done on: its device of PyTorch, its memory, and equal numbers on it."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import torch

RULE = "device must be cpu, cuda, cuda:NUMBER or mps"


def check_device(name: str) -> None:
    """ValueError where PyTorch has no such device on this machine.

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
    """What a result calls a device: a GPU by its model."""
    return torch.cuda.get_device_name(name) if name.startswith("cuda") else name


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


def reproducible(device: str = "cpu") -> None:
    """One thread and no kernel whose sums depend on timing, for this whole process.

    On an accelerator, which lacks some such kernels, PyTorch warns and takes the others.
    """
    torch.set_num_threads(1)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS refuses, or sums in any order
    torch.use_deterministic_algorithms(True, warn_only=device != "cpu")
    # Filling memory that is about to be written is a help in finding bugs, at 6% of the time.
    torch.utils.deterministic.fill_uninitialized_memory = False
