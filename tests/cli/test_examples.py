"""Every example of the docs and of every --help runs as written; what the docs show is what comes out."""

from __future__ import annotations

import dataclasses
import re
import shlex
from pathlib import Path

import pytest

from diagnosis import students
from models import checkpoints
from posenc.cli.main import EXAMPLES, VERBS, verb_class

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
SHOWN = [tuple(part.split("\n", 1)) for block in BLOCKS for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
FILES = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)

#: What `diff` says first where two things differ.
NOT_THE_SAME = re.compile(r"not the same|^draft and target: differ")
MINE = (
    students.RIGHT["vectorised"][0].replace("def mine", "def my_table")
    + students.RIGHT["rotary, adjacent"][0].replace("def mine", "def my_rope")
    + "\nclass MyEncoding:\n    def __init__(self, d_model):\n        self.table = my_table(4096, d_model)\n"
    + "    def __call__(self, x):\n        return x + self.table[: x.shape[1]]\n"
)


def write_class(name: str) -> None:
    """The class of the page, whose functions have this name."""
    right = students.RIGHT["rotary, adjacent"][0].replace("def mine", f"def {name}")
    handed_in = {
        "ann.py": right,
        "bob.py": FILES[0].replace("def rope", f"def {name}"),
        "carol/hw.py": "def rope(x",
        "dan.ipynb": "{}",
    }
    for file, text in handed_in.items():
        path = Path("submissions", file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def matches(shown: str, came: str) -> bool:
    """Whether the output is the one shown, where "..." stands for anything and runs of blanks for each other."""
    pattern = r"[\s\S]*?".join(re.sub(r"(\\ )+", r" +", re.escape(part.strip())) for part in shown.strip().split("..."))
    return re.fullmatch(rf"\s*{pattern}\s*", came) is not None


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page(posenc, tmp_path, monkeypatch, command, shown):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(FILES[0])
    write_class("rope")
    checkpoints.for_examples(tmp_path)
    program, *words = shlex.split(command)
    ran = posenc(*words)
    assert program == "posenc"
    assert not shown.strip() or matches(shown, ran.out + ran.err), ran.out + ran.err
    wrong = 2 if ran.err else 1 if "mistake:" in shown or NOT_THE_SAME.search(shown) or "--against" in command else 0
    assert ran.code == wrong
    assert shown.startswith("posenc ") or not ran.err


def test_the_page_has_enough_examples():
    assert len(SHOWN) > 20
    assert {shlex.split(command)[1] for command, _ in SHOWN} == set(VERBS) - {"tour"}


def examples() -> list[str]:
    """The lines of every verb's docstring that can be copied, and those of the short help, that are not on the page;
    the tour, the explorer, probes and comparisons have their own tests."""
    lines = list(EXAMPLES)
    for name in VERBS:
        if name not in (
            "tour", "explore", "compare", "extend", "frequencies", "report", "probe", "trace", "audit", "engines",
        ):  # fmt: skip
            lines += [
                line.strip() for line in verb_class(name).__doc__.splitlines() if line.strip().startswith("posenc ")
            ]
    return sorted(set(lines) - {command for command, _ in SHOWN}, key=lines.index)


@pytest.mark.parametrize("command", examples())
def test_the_help(posenc, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    write_class("my_rope")
    checkpoints.for_examples(tmp_path)
    ran = posenc(*shlex.split(command)[1:])
    differs = ("--base 100" in command and "check" in command) or "--against" in command
    differs |= command.startswith(("posenc diff", "posenc doctor", "posenc preflight")) and "ALiBi" not in command
    assert (ran.code, ran.err) == (1 if differs else 0, ""), ran
    assert ran.out


@pytest.mark.parametrize("name", VERBS)
def test_verbs_are_frozen_encodings_whose_fields_are_documented(name):
    kind = verb_class(name)
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert callable(kind.run)
