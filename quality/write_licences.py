"""docs/licences.md: the licence of everything that posenc or one of its extras installs; `make licences`.

Read from the metadata of what is installed, so every extra must be installed. What tests and builds alone need (the
extras dev, peers and release) is no part of what a user gets, and is left out.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
#: Extras that no user needs.
OURS = ("dev", "peers", "release")
HEAD = """# Licences

posenc and posenc-kernels have the licence Apache-2.0. They contain no code of the packages below: pip installs these
beside them, each under its own licence.

`make licences` writes this page from the metadata of what is installed on Linux with Python 3.11, and adds nothing to
it. A licence here is what a package says of itself; what is inside its binary files may have others. In bold: what
posenc or one of its extras asks for by name.

| package | licence | comes with |
| --- | --- | --- |
"""


def asked_for() -> dict[str, set[str]]:
    """Each package that pyproject.toml names for users, with the extras that name it; "posenc" for none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: of for name, of in project["optional-dependencies"].items() if name not in OURS}
    found: dict[str, set[str]] = {}
    for extra, of in {"posenc": project["dependencies"], **extras}.items():
        for words in of:
            name = canonicalize_name(Requirement(words).name)
            if name != "posenc":
                found.setdefault(name, set()).add(extra)
    return found


def required(name: str, extras: set[str]) -> list[Requirement]:
    """What an installed package requires here, with these extras of its own."""
    requirements = map(Requirement, distribution(name).requires or ())
    asked = [{"extra": extra} for extra in ("", *sorted(extras))]
    return [each for each in requirements if not each.marker or any(each.marker.evaluate(one) for one in asked)]


def brought() -> dict[str, set[str]]:
    """Each package that is installed with posenc or with an extra, itself required or not, and with which of them."""
    found: dict[str, set[str]] = {}
    for name, extras in asked_for().items():
        waiting = [Requirement(name)]
        while waiting:
            each = waiting.pop()
            known = found.setdefault(canonicalize_name(each.name), set())
            if not extras <= known:
                known |= extras
                waiting += required(each.name, each.extras)
    return found


def licence(of: Distribution) -> str:
    """What a package says of its licence: an SPDX expression, else its classifiers, else its own short words."""
    expression = of.metadata.get("License-Expression")
    classifiers = [
        each.rpartition(" :: ")[2] for each in of.metadata.get_all("Classifier") or () if "License ::" in each
    ]
    words = (of.metadata.get("License") or "").strip()
    short = words if len(words) <= 60 and "\n" not in words else ""
    said = expression or ", ".join(dict.fromkeys(classifiers)) or short
    if not said:
        raise ValueError(
            f"{of.metadata['Name']} says nothing of its licence in a line: read its files, and name it here."
        )
    return re.sub(r"\s+", " ", said)


def page() -> str:
    """The whole page."""
    asked, rows = asked_for(), []
    for name, extras in sorted(brought().items()):
        shown = f"**{name}**" if name in asked else name
        comes = "posenc" if "posenc" in extras else ", ".join(f"`{extra}`" for extra in sorted(extras))
        rows.append(f"| {shown} | {licence(distribution(name))} | {comes} |\n")
    return HEAD + "".join(rows)


def main() -> int:
    try:
        PAGE.write_text(page(), encoding="utf-8")
    except PackageNotFoundError as error:
        print(f"{error.name} is not installed, so its licence is not known: run `make licences`.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
