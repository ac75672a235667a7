"""An install fetches from an index nothing that only this repository makes: anyone could take its name there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Pages and messages that tell a reader what to install.
WRITTEN = [
    ROOT / "README.md",
    *(ROOT / "docs").rglob("*.md"),
    ROOT / "native" / "README.md",
    *(ROOT / "src").rglob("*.py"),
]


def project(path: Path) -> dict:
    return tomllib.loads(path.read_text(encoding="utf-8"))["project"]


def plain(requirement: str) -> str:
    """The name that a requirement asks an index for."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0]).lower()


def test_no_extra_asks_an_index_for_what_is_made_here():
    meta = project(ROOT / "pyproject.toml")
    required = [*meta["dependencies"], *(each for extra in meta["optional-dependencies"].values() for each in extra)]
    made_here = plain(project(ROOT / "native" / "pyproject.toml")["name"])
    assert made_here not in {plain(each) for each in required}


def test_every_extra_that_is_named_exists():
    extras = set(project(ROOT / "pyproject.toml")["optional-dependencies"])
    for path in WRITTEN:
        for names in re.findall(r"(?:posenc|\.)\[([a-z, ]+)\]['\"`]", path.read_text(encoding="utf-8")):
            assert {name.strip() for name in names.split(",")} <= extras, f"{path.name}: [{names}]"


def test_no_page_or_message_installs_posenc_by_name():
    for path in WRITTEN:
        assert not re.search(r"pip install [^\n`]*posenc(-kernels)?\b", path.read_text(encoding="utf-8")), path.name
