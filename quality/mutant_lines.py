"""Run the tests of `make test` once, in a copy of the checkout, and record which lines each runs.

Of slow cases the first two of a kind are enough: a mutant meets the quickest tests of its line first.
"""

from __future__ import annotations

import compileall
import py_compile
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import working_tree
from mutant_tests import Tests

#: In how many parts they run: a stopped recording loses one of them.
PARTS = range(1, 5)

#: A test that takes more seconds than this is slow.
SLOW = 0.3


def record(folder: Path, rooms: Iterable[str], workers: int) -> Tests:
    """The tests by the lines of these rooms that they run; parts that are recorded already are taken as they are."""
    if not (folder / "copied").exists():
        copy(folder, rooms)
    for number in PARTS:
        if not (folder / f"lines-{number}.json").exists():
            print(f"-- recording lines, part {number} of {len(PARTS)}", flush=True)
            record_part(folder, number, workers)
    data, outcomes = (tuple(folder / f"lines-{number}.{ending}" for number in PARTS) for ending in ("data", "json"))
    return Tests(folder / "tree", data, outcomes)


def copy(folder: Path, rooms: Iterable[str]) -> None:
    working_tree.copy_to(tree := folder / "tree")
    # A compiled file is valid while its source says the same, however quickly mutants follow each other.
    checked = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(tree / "src", quiet=1, invalidation_mode=checked)
    measured = [f"    {tree / room}{'' if room.endswith('.py') else '/*'}\n" for room in rooms]
    (folder / "lines.ini").write_text("".join(["[run]\ninclude =\n", *measured]))
    (folder / "copied").touch()


def record_part(folder: Path, number: int, workers: int) -> None:
    outcomes = folder / f"lines-{number}.json.new"
    part = [f"--part={number}/{len(PARTS)}", f"--outcomes={outcomes}", f"--few-above={SLOW}", "--forget=posenc"]
    cover = ["--cov", f"--cov-config={folder / 'lines.ini'}", "--cov-context=test", "--cov-report="]
    run = [sys.executable, "-m", "pytest", "-q", f"-n{workers}", "-m", "not nightly", "-p", "no:cacheprovider"]
    own = working_tree.environment(folder / "tree", folder / f"lines-{number}.data")
    ended = subprocess.run([*run, "-p", "pytest_parts", *part, *cover], cwd=folder / "tree", env=own, check=False)
    if ended.returncode not in (0, 1):  # passed, some failed
        sys.exit(f"Recording did not end: pytest gave {ended.returncode}. Call again to go on with it.")
    outcomes.rename(folder / f"lines-{number}.json")
