"""Every benchmark, with its picture in numbers: `make bench`, or `python benchmarks/run.py table rotate`.

Ratios of CPU time in one process, rounds interleaved, against a floor and against peers; nothing is timed before it has
been shown to be right. Results go to benchmarks/results as JSON with the machine described.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import bias
import catalog
import rotate
import strided
import table
from measure import busy, machine

RESULTS = Path(__file__).parent / "results"
BENCHMARKS = {
    "table": table.run,
    "rotate": rotate.run,
    "bias": bias.run,
    "strided": strided.run,
    "catalog": catalog.run,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], help="which to run; all by default")
    names = parser.parse_args().names or list(BENCHMARKS)
    RESULTS.mkdir(exist_ok=True)
    for name in names:
        before = busy()
        cases = BENCHMARKS[name]()
        for case in cases:
            print(f"\n{name}: {case['case']}  (× {case['floor']})")
            for variant, figures in case["ratios"].items():
                print(f"  {variant:<44} {figures['median']:8.2f}   [{figures['low']:.2f}, {figures['high']:.2f}]")
        result = {"benchmark": name, "machine": machine(), "load": {"before": before, "after": busy()}, "cases": cases}
        (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
