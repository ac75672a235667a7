"""Interleaved rounds of CPU time, as ratios to a floor."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def ratios(case: str, floor: str, variants: Mapping[str, Callable[[], Any]], *, rounds: int = 9) -> dict[str, Any]:
    """Each variant's CPU time over the floor's in the same round: median, least and greatest of the rounds."""
    seen: dict[str, list[float]] = {name: [] for name in variants}
    for run in variants.values():
        run()
    for _ in range(rounds):
        times = {name: _cpu(run) for name, run in variants.items()}
        for name, taken in times.items():
            seen[name].append(taken / times[floor])
    figures = {
        name: {"median": statistics.median(found), "low": min(found), "high": max(found)}
        for name, found in seen.items()
    }
    return {"case": case, "floor": floor, "rounds": rounds, "ratios": figures}


def _cpu(run: Callable[[], Any], least: float = 0.02) -> float:
    """CPU seconds of one call; a short call is repeated until the clock can tell."""
    calls, start = 0, time.process_time()
    while (taken := time.process_time() - start) < least:
        run()
        calls += 1
    return taken / calls


def busy() -> dict[str, float]:
    """How many processes wanted a core in the last minute, and how many cores there are."""
    return {"processes": round(os.getloadavg()[0], 2), "cores": float(os.cpu_count() or 1)}


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    processor = platform.processor() or platform.machine()
    description = Path("/proc/cpuinfo")
    if description.exists():
        for line in description.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                processor = line.split(":", 1)[1].strip()
                break
    packages = ("numpy", "torch", "transformers", "posenc")
    return {
        "processor": processor,
        "python": platform.python_version(),
        "threads": 1,
        "versions": {name: importlib.metadata.version(name) for name in packages},
    }
