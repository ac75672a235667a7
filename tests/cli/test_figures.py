"""Every figure of the sources has a command in the docs, which parses by day and draws or prints by night."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from posenc.cli.main import _parsed
from posenc.cli.plot import PICTURES

ROOT = Path(__file__).parents[2]
SECTION = (
    (ROOT / "docs" / "command-line.md").read_text().partition("### Figures of the sources\n")[2].partition("\n## ")[0]
)
ROWS = [re.split(r" \| ", line.strip("| "), maxsplit=2) for line in SECTION.splitlines() if line.startswith("| ")][2:]
COMMANDS = [command.strip("`") for _, _, command in ROWS]
#: A comparison whose results are in the repository.
COMPARISON = ROOT / "docs" / "comparisons" / "copy"


def test_every_command_parses():
    assert {name for documents, _, _ in ROWS for name in documents.split(", ")} == {
        "lecture", "article", "lesson", "notes", "chapter"
    }  # fmt: skip
    assert len(set(COMMANDS)) == len(COMMANDS) > 40
    for command in COMMANDS:
        program, verb, *words = shlex.split(command)
        parsed = _parsed(verb, words)
        assert program == "posenc"
        assert verb != "plot" or parsed.picture in PICTURES, command


@pytest.mark.nightly
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_draws_or_prints(posenc, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(COMPARISON, "comparison")
    words = shlex.split(command)[1:]
    ran = posenc(*words)
    assert (ran.code, ran.err) == (0, ""), ran
    if words[0] == "plot":
        assert Path(words[-1]).read_bytes().startswith(b"\x89PNG")
    else:
        assert len(ran.out.splitlines()) > 2
