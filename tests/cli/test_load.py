"""The caller's own file, and what can be wrong in it: one line, with the line number there."""

from __future__ import annotations

import sys

import pytest

from diagnosis import students


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = 1\ndef mine(:\n", "mine.py, line 2: SyntaxError: "),
        (
            "import math\nmath.sin('x')\n",
            "mine.py, line 2: TypeError: must be real number, not str. Fix the file first",
        ),
        ("import no_such_module\n", "mine.py, line 1: ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit(3)\n", "mine.py, line 1: SystemExit: 3"),
        ("import torch\nmodel = torch.nn.Linear(2, 2)\n", "got 'mine'. It has model."),
        ("def other(length, dim): ...\n", "target must name something in mine.py; got 'mine'. It has other."),
        ("def min(length, dim): ...\n", "Did you mean min?"),
        ("mine = 3\n", "target must be a function, a class or an object that can be called; got int"),
        ("def mine(length, dim):\n    return 1 / 0\n", "mine.py, line 2: ZeroDivisionError: division by zero"),
        ("def mine(length, dim):\n    return 'table'\n", "it returned <U5 values. Return numbers"),
        (
            "def mine(length, dim):\n    return [[0.0] * 3] * length\n",
            "it returned shape (8194, 3) for 8194 positions and width 16",
        ),
        ("def mine(length, dim):\n    return None\n", "it returned object values"),
        ("def mine(length, dim):\n    return 1, 2, 3\n", "it returned 3 results"),
        (
            "def mine(a, b, c, d, e, f, g):\n    return 1\n",
            "target must be callable in a documented form; got mine(a, b, c, d, e, f, g).",
        ),
        ("def mine():\n    return 1\n", "target must be callable in a documented form; got mine()."),
        ("class mine:\n    def __init__(self, flavour): ...\n", "mine asks for 'flavour'"),
        (
            "class mine:\n    def __init__(self, dim):\n        raise KeyError('k')\n",
            "mine.py, line 3: KeyError: 'k', when making mine(dim=16)",
        ),
        ("class mine:\n    pass\n", "target must be a function, a class or an object that can be called; got mine()"),
        ("def mine(x):\n    return x * x.shape[-1] * abs(x)\n", "not linear"),
    ],
)
def test_faults_in_one_line(student, code, says):
    ran = student(code)
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1), ran
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_what_the_file_prints_is_no_output_of_ours(student):
    code = "print('loud')\n" + students.RIGHT["vectorised"][0].replace("    pe =", "    print('louder')\n    pe =")
    ran = student(code, "--json")
    assert (ran.code, ran.data["right"]) == (0, True)
    assert "loud" in ran.err


def test_nothing_is_left_behind(student, tmp_path):
    path = list(sys.path)
    student(students.RIGHT["vectorised"][0])
    assert [left.name for left in tmp_path.iterdir()] == ["mine.py"]
    assert sys.path == path


def test_a_file_may_import_its_neighbour(student, tmp_path):
    (tmp_path / "neighbour.py").write_text("BASE = 10000\n")
    code = "from neighbour import BASE\n" + students.RIGHT["vectorised"][0].replace("10000 **", "BASE **")
    assert student(code).code == 0


def test_pictures_open_no_window(student, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "")
    monkeypatch.delenv("MPLBACKEND")
    code = (
        "import matplotlib.pyplot as plt\nplt.figure()\nplt.show()\nplt.close('all')\n"
        + students.RIGHT["vectorised"][0]
    )
    assert student(code).code == 0


def test_an_interrupt_in_the_file(student):
    ran = student("raise KeyboardInterrupt\n")
    assert (ran.code, ran.out) == (4, "")
    assert "KeyboardInterrupt" in ran.err
