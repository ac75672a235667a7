"""A student's file cannot reach what grades it: it runs in a child process, and only its numbers come back."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest

from posenc.diagnosis.code import child_server
from posenc.diagnosis.code.child_messages import BrokenMessageError, receive
from posenc.diagnosis.code.user_code import Tensor

HEAD = "import os, sys\nimport numpy as np\n"
RANDOM = "def mine(length, dim):\n    return np.random.default_rng(0).normal(size=(length, dim))\n"
JUDGES = (
    "import posenc.diagnosis.code.judge_values as judge\nimport posenc.diagnosis.code.check_code as check\n"
    "from posenc.diagnosis.code.code_report import CodeReport\n"
    "judge.judge_values = check.judge_values = lambda *a, **k: CodeReport(True, 'adds', 'Sinusoidal(dim=16)')\n"
    "CodeReport.right = True\nnp.abs = lambda *a, **k: np.zeros(1)\nnp.allclose = lambda *a, **k: True\n"
)
FAKE = "print('right')\nos.write(1, b'right\\n')\nsys.__stdout__.write('right\\n')\nsys.__stdout__.flush()\n"
RECORD = (
    "from posenc import RoPE as Real\nimport posenc.testing.suite as suite\n"
    "from posenc.testing.named_check import Report\nsuite.check_encoding = lambda e, **k: Report(repr(e), ())\n"
    "class RoPE(Real):\n    def rotation(self, positions, params=None, **k):\n"
    "        return super().rotation(-np.asarray(positions), params, **k)\nmine = RoPE(dim=16)\n"
)

#: name → (code, exit code, what is said of it)
CHEATS = {
    "exit while loading": (f"{HEAD}os._exit(0)\n", 4, "it ended with exit code 0 before it answered"),
    "exit when called": (
        f"{HEAD}def mine(length, dim):\n    os._exit(0)\n",
        4,
        "it ended with exit code 0 before it answered",
    ),
    "sys.exit": (f"{HEAD}sys.exit(0)\n", 4, "line 3: SystemExit: 0"),
    "raises an interrupt": (f"{HEAD}raise KeyboardInterrupt\n", 4, "KeyboardInterrupt"),
    "patched judges": (HEAD + JUDGES + RANDOM, 1, "none of the known mistakes explains it"),
    "fake reports": (HEAD + FAKE + RANDOM, 1, "none of the known mistakes explains it"),
    "endless loop": (f"{HEAD}def mine(length, dim):\n    while True: pass\n", 4, "it did not answer within 3 s"),
    "endless loop while loading": (f"{HEAD}while True: pass\n", 4, "it did not answer within 3 s"),
    "too much memory": (f"{HEAD}x = [np.empty(1 << 28, np.uint8) for _ in range(1000)]\n", 4, "MemoryError"),
    "memory when called": (
        f"{HEAD}def mine(length, dim):\n    return np.ones(1 << 40)\n",
        4,
        "MemoryError",
    ),
    "closes its answers": (f"{HEAD}os.closerange(3, 64)\n" + RANDOM, 4, "it "),
    "prints without end": (
        f"{HEAD}def mine(length, dim):\n    while True: os.write(1, b'x' * 65536)\n",
        4,
        "it did not answer within 3 s",
    ),
    "an encoding that patches its checks": (HEAD + RECORD, 1, "rotation backwards"),
}


@pytest.mark.parametrize("name", CHEATS)
def test_what_cheats_does_not_pass(student, name):
    code, exit_code, message = CHEATS[name]
    limit = ("--seconds", "3") if "3 s" in message else ()
    ran = student(code, *limit)
    assert ran.code == exit_code, ran
    assert message in (ran.err if exit_code == 4 else ran.out)
    assert "right\n" not in ran.out
    assert len(ran.out + ran.err) < 12_000


def test_what_it_prints_goes_to_the_reader_escaped(student):
    ran = student(f"{HEAD}print('\\x1b[2J\\x07seen')\n{RANDOM}")
    assert "| \\x1b[2J\\x07seen\n" in ran.err
    assert "\x1b" not in ran.err + ran.out


def test_it_reads_no_input(student):
    assert "line 3: EOFError" in student(f"{HEAD}input()\n").err


def test_a_hostile_message_is_no_crash() -> None:
    for depth in (700, 4000):  # read as JSON, but too deep for Python; and too deep for both
        words = b"[" * depth + b"]" * depth
        with pytest.raises(BrokenMessageError):
            receive(io.BytesIO(struct.pack(">II", len(words), 2) + words + b"[]"))


def test_tensors_that_fit_are_sent_and_later_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_server, "MOST_NUMBERS", 10)
    tensors = [Tensor(f"t{size}", "buffer", (size,), np.ones(size)) for size in (6, 9, 3)]
    sent = list(child_server._sendable(tensors))
    assert [None if values is None else len(values) for *_, values in sent] == [6, None, 3]
