"""What was run and caught before, and now: `python quality/compare.py [quality/before]`.

Files are followed through git's renames since the commit that was measured before; `--moved OLD NEW` says what git does
not see.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import working_tree

sys.path.append(str(working_tree.ROOT / "tests"))

QUALITY = working_tree.ROOT / "quality"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before", type=Path, nargs="?", default=QUALITY / "before")
    parser.add_argument("--moved", nargs=2, action="append", default=[], metavar=("OLD", "NEW"))
    given = parser.parse_args()
    before, now = (json.loads((folder / "coverage.json").read_text()) for folder in (given.before, QUALITY))
    print(compared_coverage(before, now, renames(before["commit"]) | dict(given.moved)))
    print(compared_bugs(json.loads((given.before / "planted_bugs.json").read_text()), planted_bugs()))
    return 0


def renames(commit: str) -> dict[str, str]:
    """Files at this commit by their name now, followed through every commit since."""
    now: dict[str, str] = {}
    log = working_tree.git(
        "log", "--reverse", "--find-renames=40%", "--diff-filter=R", "--name-status", "--format=", f"{commit}.."
    )
    for line in filter(None, log.splitlines()):
        _, old, new = line.split("\t")
        first = next((start for start, end in now.items() if end == old), old)
        now[first] = new
    return now


def compared_coverage(before: Mapping[str, Any], now: Mapping[str, Any], moved: Mapping[str, str]) -> str:
    """Files whose share of both parts fell, files that have no counterpart, and the totals."""
    lines, seen = [], set()
    for name, file in before["files"].items():
        new = moved.get(name, name)
        seen.add(new)
        if new not in now["files"]:
            lines.append(f"{name}: no file of this name now ({file['both'][2]} % before)")
        elif now["files"][new]["both"][2] < file["both"][2]:
            lines.append(f"{name} -> {new}: {file['both'][2]} % before, {now['files'][new]['both'][2]} % now")
    lines += [f"{name}: new, {file['both'][2]} %" for name, file in now["files"].items() if name not in seen]
    for part in ("test", "nightly", "both"):
        old, new = (side["total"] for side in (before, now))
        lines.append(f"{part}: {shares(old, part)} before, {shares(new, part)} now")
    return "\n".join(lines)


def shares(total: Mapping[str, Any], part: str) -> str:
    statements, branches, _ = total[part]
    return f"{statements} of {total['statements']} statements, {branches} of {total['branches']} branches"


def planted_bugs() -> dict[str, list[str]]:
    """Which checks each planted bug trips, as docs/checks.md says; a test holds the page to what happens."""
    from mutants import page

    return dict(page.recorded())


def compared_bugs(before: Mapping[str, list[str]], now: Mapping[str, list[str]]) -> str:
    """Bugs that are not planted any more, and checks that a bug tripped and does not."""
    lines = [f"{bug}: not planted any more" for bug in before if bug not in now]
    for bug in before.keys() & now.keys():
        if lost := sorted(set(before[bug]) - set(now[bug])):
            lines.append(f"{bug}: does not trip {', '.join(lost)} any more")
    return "\n".join([*sorted(lines), f"{len(before)} bugs planted before, {len(now)} now"])


if __name__ == "__main__":
    sys.exit(main())
