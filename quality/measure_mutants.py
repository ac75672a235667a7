"""The share of small mistakes in the code that the tests of `make test` catch: `make mutants`.

    python quality/measure_mutants.py [--jobs 1] [--rooms phase doors]     a stopped measurement goes on where it was
    python quality/measure_mutants.py --plant KEY WORDS     one mutant, in a copy of the checkout: `pytest WORDS` there

A random sample of mutants is drawn from each room of the mathematics and from the model reader. First every test runs
once, and the lines that it runs are recorded, by the parts of `make coverage` that run `make test`, unless these have
run. Then each mutant meets the tests that run its line, until one fails. Who survives is listed in quality/mutants.json
with a reason, written there by hand. Exit code 1 says that a gate is not met.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import py_compile
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import measure_coverage
import mutant_runs
import working_tree
from mutant_candidates import Mutant, candidates, mutated, python_files, sample
from mutant_tests import Tests

SUMMARY = working_tree.ROOT / "quality" / "mutants.json"

#: Whichever way the sample falls; from each room as many, however large it is.
SEED, DRAWN = 10, 80

ROOMS = {
    "phase": ("src/posenc/phase",),
    "frequencies": ("src/posenc/frequencies",),
    "doors": (
        "src/posenc/core/doors.py",
        "src/posenc/core/logit_doors.py",
        "src/posenc/core/rotation.py",
        "src/posenc/core/operators.py",
    ),
    "positions": ("src/posenc/positions",),
    "reader": ("src/posenc/models/config",),
}

#: Least share of the drawn mutants that tests kill, in percent.
KILLED = 95.0

#: By room: the mutants that are drawn, and how many there are.
Drawn = dict[str, tuple[list[Mutant], int]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="how many tests, later how many mutants, at once")
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=list(ROOMS), help="the others stay as they are")
    parser.add_argument("--plant", metavar="KEY", help="a key of quality/mutants.json")
    parser.add_argument("words", nargs="*", help="what pytest is given with --plant")
    given = parser.parse_args()
    root = working_tree.ROOT
    if given.plant:
        return plant(given.plant, given.words)
    drawn = {room: sample(root, python_files(root, ROOMS[room]), DRAWN, SEED) for room in given.rooms}
    folder = working_tree.state("mutants")
    tests = recorded(given.jobs)
    copy(folder)
    judge_all(folder, tests, [mutant for mutants, _ in drawn.values() for mutant in mutants], given.jobs)
    return report(summary(drawn, results(folder)))


def recorded(workers: int) -> Tests:
    """The tests by the lines that they run, as measured with coverage."""
    folder, parts = working_tree.state("coverage"), measure_coverage.unit_parts()
    measure_coverage.run_missing(folder, parts, workers)
    data, outcomes = (tuple(folder / f"{part.name}.{ending}" for part in parts) for ending in ("data", "json"))
    return Tests(working_tree.ROOT, data, outcomes)


def copy(folder: Path) -> None:
    """A copy of the checkout for mutants, made once."""
    if (folder / "copied").exists():
        return
    working_tree.copy_to(tree := folder / "tree")
    # A compiled file is valid while its source says the same, however quickly mutants follow each other.
    checked = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(tree / "src", quiet=1, invalidation_mode=checked)
    (folder / "copied").touch()


def plant(key: str, words: Sequence[str]) -> int:
    """Plant every mutant of this key in a copy of the checkout, show it, and run pytest there."""
    root, tree = working_tree.ROOT, working_tree.BUILD / "planted"
    files = python_files(root, [place for places in ROOMS.values() for place in places])
    working_tree.copy_to(tree)
    for mutant in (one for file in files for one in candidates(root, file) if one.key == key):
        (tree / mutant.file).write_text(mutated(root, mutant) or "")
    subprocess.run(["git", "diff", "--no-index", root / "src", tree / "src"], check=False)
    own = working_tree.environment(tree, tree / ".coverage")
    return subprocess.run([sys.executable, "-m", "pytest", *words], cwd=tree, env=own, check=False).returncode


def judge_all(folder: Path, tests: Tests, mutants: Sequence[Mutant], jobs: int) -> None:
    """Judge each mutant that has no result yet; each job works in a copy of its own."""
    done = {result["name"] for result in results(folder)}
    left = [mutant for mutant in mutants if mutant.name not in done]
    mutant_runs.prepare()
    children = [mutant_runs.forked(partial(judge_some, folder, job, tests, left[job::jobs])) for job in range(jobs)]
    ends = [os.waitpid(child, 0)[1] for child in children]
    if any(ends):
        sys.exit("A job did not end. Call again to go on with its mutants.")


def judge_some(folder: Path, job: int, tests: Tests, mutants: Sequence[Mutant]) -> int:
    tree = folder / f"tree-{job}"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(folder / "tree", tree, symlinks=True)
    judge = mutant_runs.Judge(tree, tests)
    with (folder / f"results-{job}.jsonl").open("a") as log:
        for mutant in mutants:
            begun = time.monotonic()
            ending = judge.of(mutant, mutated(working_tree.ROOT, mutant) or "")
            entry = {"name": mutant.name, **asdict(ending), "seconds": round(time.monotonic() - begun, 1)}
            print(f"{entry['seconds']:6} s  {ending.outcome:8} {mutant.name}  {ending.test[:90]}", flush=True)
            print(json.dumps(entry), file=log, flush=True)
    return 0


def results(folder: Path) -> list[dict[str, Any]]:
    lines = (line for path in sorted(folder.glob("results-*.jsonl")) for line in path.read_text().splitlines())
    return [json.loads(line) for line in lines]


def summary(drawn: Drawn, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Figures by room, and the survivors, with the reasons that the last summary gave; its other rooms are kept."""
    last = json.loads(SUMMARY.read_text()) if SUMMARY.exists() else {"rooms": {}}
    made = last["rooms"] | {
        room: room_entry(*of_room, last["rooms"].get(room), found) for room, of_room in drawn.items()
    }
    rooms = {room: made[room] for room in ROOMS if room in made}
    number, survived = (sum(room[count] for room in rooms.values()) for count in ("drawn", "survived"))
    return {"seed": SEED, "drawn": number, "killed_percent": round(100 * (1 - survived / number), 2), "rooms": rooms}


def room_entry(
    mutants: Sequence[Mutant], every: int, last: dict[str, Any] | None, found: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    outcome = {result["name"]: result["outcome"] for result in found}
    ends = [outcome[mutant.name] for mutant in mutants]
    reasons = {survivor["key"]: survivor["reason"] for survivor in (last["survivors"] if last else [])}
    return {
        "commit": working_tree.commit(),
        "mutants": every,
        "drawn": len(mutants),
        **{end: ends.count(end) for end in ("killed", "timeout", "survived")},
        "survivors": [
            asdict(mutant) | {"reason": reasons.get(mutant.key, "")}
            for mutant, end in zip(mutants, ends, strict=True)
            if end == "survived"
        ],
    }


def report(made: dict[str, Any]) -> int:
    SUMMARY.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
    for room, entry in made["rooms"].items():
        print(f"{room:12} { ({name: count for name, count in entry.items() if name != 'survivors'}) }")
    survivors = [survivor for entry in made["rooms"].values() for survivor in entry["survivors"]]
    unmet = [
        f"{one['key']} {one['file']}:{one['line']} survives without a reason." for one in survivors if not one["reason"]
    ]
    unmet += [f"{room} has not been measured." for room in ROOMS if room not in made["rooms"]]
    if made["killed_percent"] < KILLED:
        unmet.append(f"{made['killed_percent']} % of the mutants are killed; {KILLED} % must be.")
    print("\n".join(unmet) or f"Every gate is met: {made['killed_percent']} % of the mutants are killed.")
    return 1 if unmet else 0


if __name__ == "__main__":
    sys.exit(main())
