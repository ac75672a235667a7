"""What the figures were measured on."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any, Literal

import torch

from posenc.kernels import native

Allocator = Literal["hot", "default"]
PACKAGES = ("numpy", "torch", "transformers", "torchtune", "x-transformers", "rotary-embedding-torch")
#: glibc's names for what mallopt sets (malloc.h): the size at which the heap is trimmed, and how many blocks are
#: mapped.
TRIM_THRESHOLD, MMAP_MAX = -1, -4


def settle(allocator: Allocator) -> Allocator:
    """Make memory that was given back stay in the process ("hot"), where malloc is glibc's; result: which one holds.

    As it comes, glibc maps every large block anew and the system clears it page by page at first touch: several times
    what a rotation costs. Allocators that servers use keep their memory, as this setting does.
    """
    if allocator == "hot":
        try:
            mallopt = ctypes.CDLL(None).mallopt
        except (AttributeError, OSError, TypeError):
            return "default"
        if not (mallopt(MMAP_MAX, 0) and mallopt(TRIM_THRESHOLD, 2**31 - 1)):
            return "default"
    return allocator


def busy() -> dict[str, float]:
    """How many processes wanted a core in the last minute, and how many cores there are."""
    return {"processes": round(os.getloadavg()[0], 2), "cores": float(os.cpu_count() or 1)}


def kind() -> str:
    """The kind of this processor: the instruction set that the kernel takes."""
    return native.instruction_sets()[0] if native.MISSING is None else "no-kernel"


def machine() -> dict[str, Any]:
    """Processor, instruction sets, versions."""
    return {
        "processor": _processor(),
        "vectors": {
            "kernel": kind() if native.MISSING is None else f"no kernel: {native.MISSING}",
            "torch": torch.backends.cpu.get_cpu_capability(),
        },
        "python": platform.python_version(),
        "threads": 1,
        "versions": {"posenc": importlib.metadata.version("posenc"), **{name: _version(name) for name in PACKAGES}},
    }


def _processor() -> str:
    description = Path("/proc/cpuinfo")
    if description.exists():
        for line in description.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
