"""Branch coverage by file, of what `make test` runs and of what it leaves out: `make coverage`.

    python quality/measure_coverage.py [--workers 2] [--only test]

The tests run in parts. A stopped run goes on with the parts not yet done, as long as nothing that decides how tests end
has changed. The summary goes to quality/coverage.json; exit code 1 says that a gate is not met.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import coverage_summary
import working_tree

SUMMARY = working_tree.ROOT / "quality" / "coverage.json"

#: In how many parts the tests run: a stopped run loses one of them, and each costs a collection of all tests.
PARTS_OF_TEST, PARTS_OF_NIGHTLY = 3, 12

#: What is measured, each for itself and both together.
KINDS = ("test", "nightly")

#: Pages whose examples write files; tests follow them in folders of their own.
WRITING_PAGES = ("--ignore=docs/add-an-encoding.md", "--ignore=docs/cookbook.md")


@dataclass(frozen=True)
class Part:
    """One call of pytest."""

    name: str
    of: str
    words: tuple[str, ...]

    def run(self, folder: Path, workers: int) -> None:
        """Run it with coverage; what it finds lies in `folder` once it is whole."""
        words = [word.replace("WORKERS", str(workers)) for word in self.words]
        plugin = ["-p", "pytest_parts", f"--outcomes={folder / f'{self.name}.json.new'}", "-p", "no:cacheprovider"]
        cover = ["--cov=posenc", "--cov-branch", "--cov-config=pyproject.toml", "--cov-report=", "--cov-context=test"]
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *words, *plugin, *cover],
            cwd=working_tree.ROOT,
            env=working_tree.environment(working_tree.ROOT, folder / f"{self.name}.data"),
            check=False,
        )
        if ended.returncode not in (0, 1, 5):  # passed, some failed, no test in this part
            sys.exit(f"part {self.name} did not end: pytest gave {ended.returncode}. Call again to go on with it.")
        (folder / f"{self.name}.json.new").rename(folder / f"{self.name}.json")


def parts() -> list[Part]:
    """What the Makefile's targets unit, doctest and nightly run."""
    return [
        *unit_parts(),
        Part("doctest", "test", ("--doctest-modules", "--ignore=src/posenc/engines/runners", "src/posenc")),
        Part(
            "pages",
            "test",
            ("-nWORKERS", "--doctest-glob=*.md", *WRITING_PAGES, "README.md", "docs"),
        ),
        *pieces("nightly", "nightly", "nightly", PARTS_OF_NIGHTLY),
    ]


def unit_parts() -> list[Part]:
    """The tests of `make test` and the doctests; measure_mutants.py reads which lines each runs."""
    return pieces("test", "unit", "not nightly", PARTS_OF_TEST)


def pieces(of: str, name: str, marked: str, number: int) -> list[Part]:
    """The tests with this mark, in so many parts."""
    words = ("-nWORKERS", "--dist=loadfile", "-m", marked)
    return [Part(f"{name}-{share}", of, (*words, f"--part={share}/{number}")) for share in range(1, number + 1)]


def run_missing(folder: Path, wanted: Iterable[Part], workers: int) -> None:
    """Run those of these parts that are not done yet."""
    for part in wanted:
        if not (folder / f"{part.name}.json").exists():
            begun = time.monotonic()
            print(f"-- {part.name}", flush=True)
            part.run(folder, workers)
            print(f"-- {part.name}: {time.monotonic() - begun:.0f} s", flush=True)


def data_of(folder: Path, of: str) -> list[Path]:
    return [folder / f"{part.name}.data" for part in parts() if part.of == of]


def ended_of(folder: Path, of: str) -> dict[str, str]:
    outcomes = [json.loads((folder / f"{part.name}.json").read_text()) for part in parts() if part.of == of]
    return {test: outcome for part in outcomes for test, (outcome, _) in part.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=KINDS, help="measure these tests alone; the summary says so")
    given = parser.parse_args()
    folder, kinds = working_tree.state("coverage"), [given.only] if given.only else KINDS
    run_missing(folder, (part for part in parts() if part.of in kinds), given.workers)
    data = {of: data_of(folder, of) for of in kinds}
    ended = {of: ended_of(folder, of) for of in kinds}
    summary = coverage_summary.summary(working_tree.ROOT, working_tree.commit(), data, ended)
    SUMMARY.write_text(coverage_summary.written(summary))
    print(coverage_summary.table(summary))
    unmet = coverage_summary.unmet(summary)
    print("\n".join(unmet) or "Every gate is met.")
    return 1 if unmet else 0


if __name__ == "__main__":
    sys.exit(main())
