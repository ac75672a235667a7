"""Every benchmark: `make bench`, or `python benchmarks/run.py rotate decode` for some of them, or a folder's.

In sittings: `python benchmarks/run.py --since 2026-11-28 --minutes 25`, again and again, begins with those that have no
figures of that day or later, the shortest first, and no more after 25 minutes; it says what is left.

Ratios of CPU time on one thread, rounds interleaved in one process a benchmark, against a floor and against peers;
nothing is timed before it has been shown to be right. Results go to a folder of benchmarks/results for each kind of
processor, as JSON with the machine described, with a table of the goals and a picture. A peer that is missing or fails
is named with its reason.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from measuring.judge import judged
from measuring.machine import Allocator, busy, kind, machine, settle
from measuring.picture import RESULTS, drawn_for, kinds

#: Each in a process of its own, with its allocator: what fails or breaks one leaves the others as they are.
BENCHMARKS: dict[str, Allocator] = {
    "accuracy": "hot",
    "imports": "hot",
    "positions": "hot",
    "tracing": "hot",
    "rotate": "hot",
    "head_sizes": "hot",
    "memory": "default",
    "angles": "hot",
    "fallback": "hot",
    "decode": "hot",
    "train": "hot",
    "cache": "hot",
    "embedding": "hot",
    "scale": "default",
    "table": "hot",
    "add": "hot",
    "whole_models": "hot",
    "modules": "hot",
    "lookup": "hot",
    "bias": "hot",
    "attention": "default",
    "attention_training": "default",
    "attention_decoding": "default",
    "attention_one_row": "default",
    "attention_windows": "default",
    "attention_shared": "default",
    "attention_memory": "default",
    "attention_peers": "default",
    "attention_models": "hot",
    "attention_model_lengths": "hot",
    "catalog": "hot",
    "calls": "hot",
    "jax_programs": "default",
    "lab_models": "default",
    "lab_catalog": "default",
    "lab_memory": "default",
}
FOLDER = Path(__file__).parent
#: Folders of benchmarks, which may be named in place of them.
PARTS = sorted(path.name for path in FOLDER.glob("*_cost"))
LONGEST = 1800  # seconds of one benchmark, before it is given up


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", choices=[[], *BENCHMARKS, *PARTS], help="which to run, by name or by folder; all by default"
    )
    parser.add_argument("--here", action="store_true", help="in this process, as each is run by itself")
    parser.add_argument("--since", type=date.fromisoformat, help="only those without figures of this day or later")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin none after so many minutes")
    parser.add_argument(
        "--judge", action="store_true", help="run none; set the goals against the figures that there are"
    )
    arguments = parser.parse_args()
    names = [] if arguments.judge else chosen(arguments.names or list(BENCHMARKS), arguments.since)
    (RESULTS / kind()).mkdir(parents=True, exist_ok=True)
    failed, end = [], time.monotonic() + 60 * arguments.minutes
    while names and time.monotonic() < end:
        name = names.pop(0)
        if not (inside(name) if arguments.here else apart(name)):
            failed.append(name)
    if not arguments.here:
        summed_up()
    for what, those in (("failed", failed), ("left for another sitting", names)):
        if those:
            print(f"\n{what}: {', '.join(those)}")
    return len(failed)


def chosen(names: Iterable[str], since: date | None) -> list[str]:
    """The benchmarks of these names and folders; with a day, those without figures since then, the shortest first."""
    found = [one for name in names for one in (of_part(name) if name in PARTS else [name])]
    if since is None:
        return found
    last = results(kind())
    old = [name for name in found if "failed" in last.get(name, {}) or day(last.get(name, {})) < since.isoformat()]
    return sorted(old, key=lambda name: last.get(name, {}).get("seconds", LONGEST))


def of_part(part: str) -> list[str]:
    """The benchmarks of a folder, in their order."""
    return [name for name in BENCHMARKS if (FOLDER / part / f"{name}.py").exists()]


def day(result: dict[str, Any]) -> str:
    """The day on which figures were taken, "" where they do not say it."""
    return str(result.get("date", ""))


def apart(name: str) -> bool:
    """One benchmark in a process of its own; whether it gave figures. A failure is written down where they would be."""
    try:
        code = subprocess.run([sys.executable, __file__, name, "--here"], timeout=LONGEST, check=False).returncode
        why = f"ended with status {code}"
    except subprocess.TimeoutExpired:
        code, why = 1, f"took longer than {LONGEST} seconds"
    if code:
        written(name, {"benchmark": name, "machine": machine(), "failed": why, "cases": []})
    return code == 0


def benchmark(name: str) -> Any:
    """The module of a benchmark, in whichever room it lies."""
    (path,) = (path for path in FOLDER.rglob(f"{name}.py") if path.name != "run.py")
    return importlib.import_module(".".join(path.relative_to(FOLDER).with_suffix("").parts))


def inside(name: str) -> bool:
    """One benchmark, here and now."""
    import torch

    torch.set_num_threads(1)
    allocator, before, start = settle(BENCHMARKS[name]), busy(), time.monotonic()
    cases = benchmark(name).run()
    for case in cases:
        shown(name, case)
    result = {
        "benchmark": name,
        "machine": machine(),
        "date": date.today().isoformat(),
        "allocator": allocator,
        "load": {"before": before, "after": busy()},
        "seconds": round(time.monotonic() - start),
        "cases": cases,
    }
    written(name, result)
    return True


def shown(name: str, case: dict[str, Any]) -> None:
    print(f"\n{name}: {case['case']}" + (f"  (× {case['floor']})" if "floor" in case else ""))
    for variant, figures in case.get("ratios", {}).items():
        print(f"  {variant:<44} {figures['median']:8.2f}   [{figures['low']:.2f}, {figures['high']:.2f}]")
    for variant, value in case.get("values", {}).items():
        print(f"  {variant:<44} {value:10.4g}")
    for variant, why in case.get("left out", {}).items():
        print(f"  {variant:<44} left out: {why}")


def written(name: str, result: Any) -> None:
    write(RESULTS / kind() / f"{name}.json", result)


def write(path: Path, result: Any) -> None:
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def results(of: str) -> dict[str, Any]:
    """What each benchmark wrote when it was last run on this kind of processor."""
    paths = {name: RESULTS / of / f"{name}.json" for name in BENCHMARKS}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.exists()}


def summed_up() -> None:
    """The goals and all the figures that there are, in print and as JSON, and the picture; for each kind of
    processor."""
    for of in kinds():
        rows = judged(results(of), of)
        print(f"\n{f'goal ({of})':<52} {'at most':>8} {'measured':>9}")
        for row in rows:
            figure = "-" if row["measured"] is None else f"{row['measured']:.3g}"
            why = row["why"] and f": {row['why']}"
            print(f"{row['what']:<52} {row['goal']:>8.3g} {figure:>9}  {row['verdict']}{why}")
        write(RESULTS / of / "goals.json", {"goals": rows})
        drawn_for(of)


if __name__ == "__main__":
    sys.exit(main())
