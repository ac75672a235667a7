"""From coverage.py's data to a small summary, file by file; its table and its gates."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import coverage

import working_tree

#: Where every branch must be run: modules and packages of posenc.
CORE = ("core", "phase", "positions", "frequencies", "compose", "encodings", "catalog.py", "parse.py", "attention.py")

#: Least share of branches overall, in percent, run by the two parts together.
OVERALL = 95.0

ENDS = ("passed", "failed", "skipped")

Summary = dict[str, Any]


def summary(
    root: Path, commit: str, data: Mapping[str, Sequence[Path]], ended: Mapping[str, Mapping[str, str]]
) -> Summary:
    """Covered statements and branches by file, for each part and, of two parts, for both together.

    root: the checkout that was measured, at this commit.   data: files of coverage.py, by part; one part or two.
    ended: by part, how each test ended: passed, failed or skipped.
    """
    both = {"both": [path for paths in data.values() for path in paths]} if len(data) > 1 else {}
    reports = {part: report(root, paths) for part, paths in {**data, **both}.items()}
    names = sorted(list(reports.values())[-1])
    files = {name: file_entry({part: reports[part][name] for part in reports}) for name in names}
    return {
        "commit": commit,
        "measured": list(reports),
        "columns": "statements, branches; for each part: covered statements, covered branches, percent of the two",
        "tests": {part: {end: list(ends.values()).count(end) for end in ENDS} for part, ends in ended.items()},
        "failed": {part: sorted(test for test in ends if ends[test] == "failed") for part, ends in ended.items()},
        "total": total(files, list(reports)),
        "files": files,
    }


def report(root: Path, paths: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """What coverage.py reports of these data files together, by file below `root`."""
    with tempfile.TemporaryDirectory() as folder:
        both, config = Path(folder) / "data", str(working_tree.ROOT / "pyproject.toml")
        measured = coverage.Coverage(data_file=str(both), config_file=config)
        measured.combine([str(path) for path in paths], keep=True)
        measured.json_report(outfile=f"{both}.json", include=[f"{root}/src/posenc/*"])
        files = json.loads(Path(f"{both}.json").read_text())["files"]
    return {str(Path(name).resolve().relative_to(root)): entry for name, entry in files.items()}


def file_entry(reports: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """One file: how much there is, how much of it each part ran, and what none ran."""
    last = list(reports.values())[-1]
    counts = last["summary"]
    entry: dict[str, Any] = {"statements": counts["num_statements"], "branches": counts["num_branches"]}
    for part, of in reports.items():
        entry[part] = covered(of["summary"]["covered_lines"], of["summary"]["covered_branches"], entry)
    lines = last["missing_lines"]
    jumps = [f"{a}->{b}" for a, b in last["missing_branches"] if a not in lines and b not in lines]
    return {**entry, "missing": [*map(str, lines), *jumps]}


def covered(statements: int, branches: int, of: Mapping[str, int]) -> list[float]:
    every = of["statements"] + of["branches"]
    return [statements, branches, round(100.0 * (statements + branches) / every, 2) if every else 100.0]


def total(files: Mapping[str, Mapping[str, Any]], parts: Sequence[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {key: sum(file[key] for file in files.values()) for key in ("statements", "branches")}
    for part in parts:
        statements, branches = (sum(file[part][column] for file in files.values()) for column in (0, 1))
        entry[part] = covered(statements, branches, entry)
    return entry


def in_core(name: str) -> bool:
    return Path(name).relative_to("src/posenc").parts[0] in CORE


def unmet(made: Summary) -> list[str]:
    """Each gate that the summary does not meet, as a sentence."""
    sentences = [
        f"{name}: the core must be run whole, every branch of it; not run: {', '.join(file['missing'])}."
        for name, file in made["files"].items()
        if in_core(name) and file["missing"]
    ]
    sentences += [f"{name} failed." for tests in made["failed"].values() for name in tests]
    every, last = made["total"], made["measured"][-1]
    if (share := 100.0 * every[last][1] / every["branches"]) < OVERALL:
        sentences.append(f"{share:.2f} % of all branches are run; {OVERALL} % must be.")
    return sentences


def table(made: Summary) -> str:
    """The files that are not run whole, and the total, as text."""
    parts = made["measured"]
    head = f"{'file':64} {'statements':>10} {'branches':>8} {' '.join(f'{part:>7} %' for part in parts)}  not run"
    short = [(name, file) for name, file in made["files"].items() if file["missing"]]
    rows = [line(name, file, parts) + "  " + " ".join(file["missing"]) for name, file in short]
    whole = len(made["files"]) - len(short)
    return "\n".join([head, *rows, f"{whole} files are run whole.", line("total", made["total"], parts)])


def line(name: str, entry: Mapping[str, Any], parts: Sequence[str]) -> str:
    shares = " ".join(f"{entry[part][2]:9.2f}" for part in parts)
    return f"{name:64} {entry['statements']:10} {entry['branches']:8} {shares}"


def written(made: Summary) -> str:
    """JSON with a line for each file."""
    lines = [f'  "{name}": {json.dumps(file)}' for name, file in made["files"].items()]
    rest = [f' "{key}": {json.dumps(value)},' for key, value in made.items() if key != "files"]
    return "\n".join(["{", *rest, ' "files": {', ",\n".join(lines), " }", "}"]) + "\n"
