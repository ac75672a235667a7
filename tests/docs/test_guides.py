"""The guides as text: lines that fit an editor, tables that are tables, and every verb of the command line named."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from every import every
from posenc.cli.main import VERBS, _parsed

ROOT = Path(__file__).parents[2]
#: Pages that a script writes, with long lines.
WRITTEN = (
    *("audit", "checks", "claims", "context-extension", "conventions", "coverage", "encodings"),
    *("engines", "gallery", "models", "speed"),
)
GUIDES = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")),
    *sorted(path for path in (ROOT / "docs").glob("*.md") if path.stem not in WRITTEN),
]
LONGEST = 120


def lines_outside_outputs(text: str) -> list[str]:
    """Lines of prose, and those that an example types; no table, and no output."""
    found, fenced = [], False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif line.startswith((">>> ", "... ")) if fenced else not line.lstrip().startswith(("|", "![")):
            found.append(line)
    return found


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_no_line_is_longer_than_a_screen(path: Path) -> None:
    long = [line for line in lines_outside_outputs(path.read_text("utf-8")) if len(line) > LONGEST]
    assert not long, long


def test_every_table_has_a_head() -> None:
    """A row behind an empty line is no row of the table above it."""

    def check(path: Path) -> None:
        text = re.sub(r"^( *)```.*?^ *```$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        tables = re.findall(r"(?:^ *\|.*\n)+", text, flags=re.MULTILINE)
        headless = [table for table in tables if not re.match(r" *\|.*\n *\|[ :|-]+\|\n", table)]
        assert not headless, headless

    every([ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], check)


def test_the_guide_lists_every_verb() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    listed = re.findall(r"[a-z]+", text.split("```text\nposenc ")[1].split("```")[0])
    assert sorted(listed) == sorted(VERBS)


def commands(text: str) -> list[list[str]]:
    """Words of every command with arguments: in fences without outputs, and in prose."""
    fences = "\n".join(re.findall(r"^ *```(?:sh|text)\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL))
    typed = re.findall(r"^posenc .*", fences.replace("\\\n", " "), re.MULTILINE)
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    found = [re.split(r" (?:# |> )", line)[0] for line in typed] + re.findall(r"`(posenc [^`]+)`", prose)
    return [shlex.split(line)[1:] for line in found if "..." not in line and "|" not in line]


def test_every_command_that_a_guide_names_can_be_typed() -> None:
    named = {
        tuple(words)
        for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
        for words in commands(path.read_text("utf-8"))
        if words[0] in VERBS and len(words) > 1
    }
    every(sorted(named), lambda words: _parsed(words[0], words[1:]))
    assert len(named) > 100
