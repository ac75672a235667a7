"""Rotations on a GPU: `python benchmarks/gpu.py`, on a machine with CUDA; run.py leaves it out.

Every variant of a case is first shown to be right, then all are timed with CUDA events in interleaved rounds, as ratios
to the floor of the same round. `--check` compares alone, at a small size; with TRITON_INTERPRET=1 it needs no GPU.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from gpu_cases import Case, Run, cases

RESULTS = Path(__file__).parent / "results"
#: Milliseconds of calls between two events: a clock that ticks in half microseconds then sees a part in ten thousand.
LONG_ENOUGH = 10.0


@dataclass(frozen=True)
class Checked:
    """The variants of a case that gave the right numbers, ready to be timed, and the peers that did not, with why."""

    case: Case
    runs: dict[str, Run]
    left_out: dict[str, str]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare and time nothing, at a small size")
    parser.add_argument("--rounds", type=int, default=15, help="interleaved rounds of a case")
    parser.add_argument("--out", type=Path, default=RESULTS / "gpu.json", help="where the figures go")
    given = parser.parse_args(arguments)
    if given.rounds < 1:
        parser.error(f"--rounds must be at least 1; got {given.rounds}")
    if given.check:
        return check()
    if not torch.cuda.is_available():
        print("benchmarks/gpu.py measures on a GPU, and PyTorch sees none here: nothing was measured.")
        return 0
    figures = []
    for case in cases("cuda", small=False):
        figures.append(measured(checked(case), given.rounds))
        show(figures[-1])
        write(given.out, {"benchmark": "gpu", "machine": machine(), "cases": figures})  # what was measured is not lost
    return 0


def write(place: Path, figures: dict[str, Any]) -> None:
    """The whole file or none of it."""
    partial = place.with_name(f".{place.name}.partial")
    partial.write_text(json.dumps(figures, indent=1) + "\n")
    partial.replace(place)


def check() -> int:
    """All that is not timing: on a GPU, or in Triton's interpreter."""
    if find_spec("triton") is None:
        print("Triton is not installed: nothing was compared.")
        return 0
    import triton

    device = "cpu" if triton.knobs.runtime.interpret else "cuda"
    if device == "cuda" and not torch.cuda.is_available():
        print("PyTorch sees no GPU here, and TRITON_INTERPRET is not 1: nothing was compared.")
        return 0
    for case in cases(device, small=True):
        found = checked(case)
        print(f"{case.name}: {', '.join(found.runs)} are right; left out: {found.left_out or 'none'}")
    return 0


def checked(case: Case) -> Checked:
    """What is ours and wrong stops the benchmark; a peer that is wrong, or fails, is left out and named."""
    runs, left_out = {}, {}
    for name, variant in case.variants.items():
        ours = name.startswith("posenc")
        try:
            gap = excess(case, variant.make()(), ours) if variant.right else 0.0
        except Exception as error:
            if ours:
                raise
            left_out[name] = f"{type(error).__name__}: {error}"[:200]
            continue
        if not gap <= 0.0:
            if ours:
                raise SystemExit(f"{case.name}: {name} is {gap} further from the truth than its rounding allows")
            left_out[name] = f"{gap} further from the truth than allowed"
            continue
        runs[name] = variant.make()
    return Checked(case, runs, left_out)


def excess(case: Case, found: tuple[torch.Tensor, ...], ours: bool) -> float:
    """By how much the numbers are further from the expected ones, in float64, than they may be.

    Ours are rounded once, to `eps` at most where bits are cut off as in Triton's interpreter; waves are good to 1.2e-7
    and products to 2^-24, of numbers below 16. Peers have their tables in the dtype, and round several times.
    """
    worst = -1.0
    for mine, true in zip(found, case.expected, strict=True):
        eps = torch.finfo(mine.dtype).eps
        allowed = eps * true.abs() + 16 * (2 * 1.2e-7 + 4 * 2**-24) if ours else torch.full_like(true, 32 * eps)
        gap = ((mine.double() - true).abs() - allowed).max().item()
        worst = max(worst, gap if gap == gap else float("inf"))
    return worst


def measured(found: Checked, rounds: int) -> dict[str, Any]:
    """Medians, least and greatest of each variant's time over the floor's in the same round."""
    runs, left_out = dict(found.runs), dict(found.left_out)
    for name, run in list(runs.items()):
        for _ in range(3):
            run()
        if found.case.graph:
            try:
                runs[name] = replayed(run)
            except Exception as error:  # what waits for the GPU, or reads from it, cannot be captured
                left_out[name] = f"no CUDA graph: {type(error).__name__}: {error}"[:200]
                del runs[name]
    calls = {name: max(1, min(2000, int(LONG_ENOUGH / max(elapsed(run, 5), 1e-3)))) for name, run in runs.items()}
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            taken[name].append(elapsed(run, calls[name]))
    floor = taken[found.case.floor]
    ratios = {name: [time / least for time, least in zip(times, floor, strict=True)] for name, times in taken.items()}
    return {
        "case": found.case.name,
        "floor": found.case.floor,
        "rounds": rounds,
        "bytes": found.case.bytes,
        "ratios": {
            name: {"median": statistics.median(own), "low": min(own), "high": max(own)} for name, own in ratios.items()
        },
        "microseconds": {name: 1000 * statistics.median(own) for name, own in taken.items()},
        "left_out": left_out,
    }


def elapsed(run: Callable[[], Any], calls: int) -> float:
    """Milliseconds of one call, by events around several."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.encoding()
    for _ in range(calls):
        run()
    end.encoding()
    end.synchronize()
    return float(start.elapsed_time(end)) / calls


def replayed(run: Run) -> Callable[[], None]:
    """The call without the time that Python takes to launch it."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def show(figures: dict[str, Any]) -> None:
    print(f"\ngpu: {figures['case']}  (× {figures['floor']})")
    for name, own in figures["ratios"].items():
        time = figures["microseconds"][name]
        print(f"  {name:<52} {own['median']:8.2f}   [{own['low']:.2f}, {own['high']:.2f}]   {time:9.1f} µs")
    for name, why in figures["left_out"].items():
        print(f"  {name:<52} left out: {why}")


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    gpu = torch.cuda.get_device_properties(0)
    return {
        "gpu": gpu.name,
        "capability": f"{gpu.major}.{gpu.minor}",
        "multiprocessors": gpu.multi_processor_count,
        "memory": gpu.total_memory,
        "cache": getattr(gpu, "L2_cache_size", None),
        "cuda": torch.version.cuda,
        "versions": dict(versions()),
    }


def versions() -> Iterator[tuple[str, str]]:
    for name in ("torch", "triton", "transformers", "posenc", "flash-attn", "liger-kernel"):
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue


if __name__ == "__main__":
    sys.exit(main())
