"""docs/checks.md: what every check is for, and which planted bugs it trips on."""

from __future__ import annotations

import re
import sys
import tempfile
import warnings
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from mutants import adapters, grids, logits, maps, rotations, rows  # noqa: E402
from mutants.bug import Bug  # noqa: E402
from mutants.source import SUBSTITUTIONS  # noqa: E402
from posenc.testing import ALL_CHECKS  # noqa: E402
from posenc.testing.named_check import DOORS  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "checks.md"
BUGS: tuple[Bug, ...] = (*rows.BUGS, *rotations.BUGS, *logits.BUGS, *grids.BUGS, *maps.BUGS, *adapters.BUGS)

INTRODUCTION = """\
# The checks, and the bugs they catch

`posenc.testing.check_encoding(encoding)` runs every check that applies to the encoding's door and claims, and reports
each in a sentence. A [claim](glossary.md#claims) is checked both ways: what is claimed must be true, what is not
claimed must be false. The checks are tested too: tests plant bugs in encodings, in adapters and in the package's own
files, and each check must fail on at least one of them. The first table lists the checks, why each exists, and the
planted bugs that make it fail; the second lists the bugs. `python tests/mutants/page.py` generates this page, and a
test compares every line of it with what happens.
"""


def written(tripped: Mapping[str, list[str]]) -> str:
    """The page for a record of which bug trips which checks."""
    lines = [
        INTRODUCTION,
        f"## {len(ALL_CHECKS)} checks",
        "",
        "| check | doors | why | trips on |",
        "| --- | --- | --- | --- |",
    ]
    for check in ALL_CHECKS:
        doors = "all" if check.doors == DOORS else ", ".join(check.doors)
        caught = ", ".join(f"`{name}`" for name, names in tripped.items() if check.name in names)
        lines.append(f"| `{check.name}` | {doors} | {check.explains} | {caught} |")
    lines += ["", f"## {len(tripped)} planted bugs", "", "| bug | what is wrong | trips |", "| --- | --- | --- |"]
    for bug in (*BUGS, *SUBSTITUTIONS):
        lines.append(f"| `{bug.name}` | {bug.what} | {', '.join(f'`{name}`' for name in tripped.get(bug.name, []))} |")
    return "\n".join(lines) + "\n"


@lru_cache(maxsize=1)
def recorded() -> dict[str, list[str]]:
    """Which bug trips which checks, as the page says."""
    bugs = PAGE.read_text(encoding="utf-8").rpartition("planted bugs\n")[2]
    cells = [line.split(" | ") for line in bugs.splitlines() if line.startswith("| `")]
    return {cell[0].strip("| `"): re.findall(r"`(\w+)`", cell[2]) for cell in cells}


def run() -> dict[str, list[str]]:
    """Plant every bug and see."""
    warnings.simplefilter("error")  # as under pytest
    found = {}
    for bug in BUGS:
        rows.forget()
        found[bug.name] = bug.tripped()
    for bug in SUBSTITUTIONS:
        with tempfile.TemporaryDirectory() as folder:
            found[bug.name] = bug.tripped(Path(folder))
    return found


if __name__ == "__main__":
    PAGE.write_text(written(run()))
