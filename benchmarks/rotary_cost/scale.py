"""Cost against length, from a thousand tokens to a million: time a token, and memory beyond what is rotated."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measuring.measure import cpu_seconds
from measuring.ours import IN_PLACE, MADE

import posenc
import posenc.torch
from posenc.torch import rotate_

DIM, QUERIES, KEYS = 64, 3, 1
LENGTHS = tuple(1024 * 4**power for power in range(6))
#: From here on nothing fits into a cache any more, so that a token costs what the next one costs.
LARGE, LARGEST = LENGTHS[3], LENGTHS[-1]
ROUNDS = 5
Runs = dict[str, Callable[[], Any]]


def run() -> list[dict[str, Any]]:
    seconds: dict[str, dict[int, float]] = {}
    beyond: dict[str, dict[int, int | None]] = {}
    for length in LENGTHS:
        runs = variants(length)
        for name, one in runs.items():
            one()
            beyond.setdefault(name, {})[length] = peak(one)
        taken = [{name: cpu_seconds(one) for name, one in runs.items()} for _ in range(ROUNDS)]
        for name in runs:
            seconds.setdefault(name, {})[length] = statistics.median(found[name] for found in taken)
    growth = {name: found[LARGEST] / LARGEST / (found[LARGE] / LARGE) for name, found in seconds.items()}
    return [
        *(
            _case(f"nanoseconds a token: {name}", {length: 1e9 * taken / length for length, taken in of.items()})
            for name, of in seconds.items()
        ),
        *(_case(f"bytes beyond what is given: {name}", of) for name, of in beyond.items()),
        {"case": f"a token at {LARGEST}, over one at {LARGE}", "values": growth, "left out": {}},
    ]  # fmt: skip


def _case(name: str, values: dict[int, Any]) -> dict[str, Any]:
    known = {str(length): value for length, value in values.items() if value is not None}
    unknown = {str(length): "no count of resident pages here" for length in values if str(length) not in known}
    return {"case": name, "values": known, "left out": unknown}


def variants(length: int) -> Runs:
    """What is done to three heads of queries and one of keys, in bfloat16."""
    places, encoding = torch.arange(length), posenc.RoPE(dim=DIM, pairing="halves")
    drawn = torch.Generator().manual_seed(0)
    q, k = (torch.randn(1, length, heads, DIM, generator=drawn, dtype=torch.bfloat16) for heads in (QUERIES, KEYS))
    rotation, angles = posenc.torch.rotation(encoding, places), posenc.torch.angles(encoding, places)
    out = torch.empty_like(q), torch.empty_like(k)

    def copy() -> None:
        for to, x in zip(out, (q, k), strict=True):
            to.copy_(x)

    return {
        "copy_ of q and k": copy,
        IN_PLACE: lambda: rotate_(q, k, rotation, layout="bthd"),
        MADE: lambda: rotate_(q, k, angles, layout="bthd"),
        "posenc, table made": lambda: posenc.torch.rotation(encoding, places),
        "posenc reference, table made": lambda: encoding.rotation(places),
    }


def peak(run: Callable[[], Any]) -> int | None:
    """Bytes that a run needs at once beyond those that were resident before; None where the system does not count
    them."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    gc.collect()
    try:
        before = _kilobytes(status, "VmRSS")
        reset.write_text("5", encoding="utf-8")  # the greatest size begins anew at that of now
        run()
        return 1024 * max(0, _kilobytes(status, "VmHWM") - before)
    except (OSError, StopIteration):
        return None


def _kilobytes(status: Path, name: str) -> int:
    line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith(name))
    return int(line.split()[1])
