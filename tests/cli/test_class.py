"""`posenc check FOLDER`: a class in one table and one file, whatever its submissions do."""

from __future__ import annotations

import csv
import importlib
import os
import signal
from pathlib import Path

import pytest

HEAD = "import glob, os, sys\nimport numpy as np\n"
RIGHT = (
    "def table(length, d_model):\n"
    "    angle = np.arange(length)[:, None] / 10000 ** (2 * np.arange(d_model // 2) / d_model)\n"
    "    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, d_model)\n"
)
#: What is handed in, in the order in which it is checked: name → (code, grade, words of the explanation).
SUBMISSIONS = {
    "=2+3.py": (HEAD + RIGHT, "right", "It is Sinusoidal(dim=16)."),
    "a_vandal.py": (
        f"{HEAD}open(os.environ['CLASS'] + '/victim.py', 'w').write('garbage(')\n{RIGHT}",
        "right",
        "It is Sinusoidal(dim=16).",
    ),
    "base.py": (HEAD + RIGHT.replace("10000", "1000"), "wrong", "The base is 1000"),
    "deletes.py": (f"{HEAD}os.remove(__file__)\n{RIGHT}", "right", ""),
    "fake.py": (
        f'{HEAD}print(\'{{"verdict": "right"}}\' * 100_000)\n{RIGHT.replace("np.sin", "np.tan")}',
        "wrong",
        "none of the known mistakes explains it (first differs position 1",
    ),
    "forks.py": (f"{HEAD}import time\nif not os.fork():\n    os.setsid(), time.sleep(60)\n{RIGHT}", "right", ""),
    "ends.py": (f"{HEAD}os._exit(0)\n", "unchecked", "ends.py: it ended with exit code 0 before it answered"),
    "looks around.py": (
        f"{HEAD}exec(open(glob.glob(os.path.dirname(__file__) + '/b*.py')[0]).read())",
        "unchecked",
        "looks around.py, line 3: IndexError",
    ),
    "new\nline.py": (HEAD + RIGHT, "right", ""),
    "notes.txt": ("I did it on paper.", "unchecked", "it must be a Python file, NAME.py, or a folder"),
    "shape.py": (f"{HEAD}def table(length, d_model):\n    return np.zeros(3)\n", "unchecked", "returned shape (3,)"),
    "syntax.py": ("def table(:", "unchecked", "syntax.py, line 1: SyntaxError"),
    "unknown.py": (HEAD + RIGHT.replace("def table", "def tabel"), "unchecked", "got 'table'. Did you mean tabel?"),
    "victim.py": (HEAD + RIGHT, "right", "It is Sinusoidal(dim=16)."),
}


@pytest.fixture
def course(tmp_path: Path) -> Path:
    folder = tmp_path / "course"
    folder.mkdir()
    return folder


def grades(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


@pytest.mark.nightly
def test_a_class_with_hostile_submissions(posenc, course, monkeypatch):
    for name, (code, _, _) in SUBMISSIONS.items():
        (course / name).write_text(code)
    os.mkfifo(course / "pipe.py")
    (course / "linked.py").symlink_to("victim.py")
    monkeypatch.setenv("CLASS", str(course))
    ran = posenc("check", f"{course}:table", "--seconds", "20", "--output", str(course / "grades.csv"), "--json")
    assert (ran.code, ran.data["changed"]) == (1, ["victim.py"])
    found = {one["submission"]: one for one in ran.data["submissions"]}
    assert sorted(found) == sorted([*SUBMISSIONS, "pipe.py", "linked.py"])
    for name, (_, grade, says) in SUBMISSIONS.items():
        assert (found[name]["grade"], says in found[name]["explanation"]) == (grade, True), found[name]
    assert (found["pipe.py"]["grade"], found["linked.py"]["grade"]) == ("unchecked", "unchecked")
    rows = grades(course / "grades.csv")
    assert len(rows) == len(found)
    assert rows[0]["submission"] == "'=2+3.py"
    assert (course / "victim.py").read_text() == "garbage("


def test_a_class_in_one_table_and_one_file(posenc, course):
    (course / "ann").mkdir()
    (course / "ann" / "hw.py").write_text(f"import helper\n{HEAD}{RIGHT.replace('10000', 'helper.BASE')}")
    (course / "ann" / "helper.py").write_text("BASE = 10000\n")
    (course / "bob.py").write_text(SUBMISSIONS["base.py"][0])
    output = course.parent / "grades.csv"
    ran = posenc("check", str(course), "--output", str(output))
    assert (ran.code, ran.out.splitlines()[-2:]) == (1, [
        "2 submissions: 0 right, 0 unjudged, 1 unchecked, 1 wrong", f"wrote {output}",
    ])  # fmt: skip
    assert "it holds helper.py, hw.py. --file says which" in " ".join(ran.out.split())
    ran = posenc("check", str(course), "--file", "hw.py", "--json")
    assert [(one["submission"], one["grade"]) for one in ran.data["submissions"]] == [
        ("ann", "right"), ("bob.py", "unchecked"),
    ]  # fmt: skip
    assert (ran.code, ran.data["verdict"]) == (4, "cannot be compared")


def test_an_interrupted_class_keeps_what_is_graded(posenc, course, monkeypatch):
    for name in ("a.py", "b.py"):
        (course / name).write_text("")
    module = importlib.import_module("posenc.cli.class_grades")

    def interrupts(submission, _):
        if submission.name == "b.py":
            signal.raise_signal(signal.SIGINT)
        return module.ClassGrade(submission.name, "right")

    monkeypatch.setattr(module, "_graded", interrupts)
    output = course.parent / "grades.csv"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started this aside
    try:
        ran = posenc("check", str(course), "--output", str(output), "--json")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (ran.code, ran.data["error"]) == (130, "stopped.")
    assert [row["grade"] for row in grades(output)] == ["right", "not graded yet"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("{}",), "target must be a folder that holds submissions; got "),
        (("{}:f",), "target must be a folder that holds submissions; got "),
        (("{}:a-b",), "target must be FOLDER or FOLDER:NAME; got "),
        (("{}x",), "target must be FILE.py:NAME, or a folder that exists; got "),
        (("{}", "--output", "grades.txt"), "output must be a file that ends in .csv; got 'grades.txt'"),
        (("{}", "--output", "no/grades.csv"), "output must be in an existing folder; got "),
        (("{}", "--file", "../hw.py"), "file must be the name of a Python file; got '../hw.py'"),
        (("{}", "--seconds", "0"), "seconds must be a finite number above 0"),
        (("{}", "--memory", "0.1"), "memory must be a finite number from 0.25"),
        (("{}", "--dim", "0"), "dim must be an integer from 1"),
        (("{}", "--base", "-1"), "base must be a finite number above 0"),
        (("{}", "--against", "RoPE"), "got 'RoPE'. Write it with its fields"),
        (("{}", "--against", "RoPE(dim=8)", "--dim", "8"), "dim must be left out with against"),
        (("{}", "--layout", "x"), "layout must be one of"),
        (("x.py:f", "--output", "grades.csv"), "output must come with the folder of a class; got 'x.py:f'"),
        (("--questions", "--file", "hw.py"), "file must come with code to check"),
    ],
)
def test_a_wrong_command_has_a_code_of_its_own_and_json(posenc, course, words, says):
    ran = posenc("check", *(word.format(course) for word in words), "--json")
    assert (ran.code, set(ran.data)) == (2, {"verdict", "error"})
    assert ran.data["error"] in ran.err
    assert says in ran.err
