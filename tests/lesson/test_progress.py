"""How far the tour is: bars in a terminal, lines elsewhere."""

from __future__ import annotations

import io
import sys

import pytest

from posenc.cli.tour import _show_progress
from posenc.explorer.lesson.journey import ALL, StageProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


STEPS = [
    StageProgress("reading", 0, 2),
    StageProgress("reading", 2, 2, "all read"),
    *(StageProgress(ALL, done, 8) for done in range(9)),
]


def test_a_terminal_sees_a_bar_for_each_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    _show_progress(iter(STEPS))
    last = terminal.getvalue()
    for words in ("reading", "all read", ALL, "100%"):
        assert words in last


def test_elsewhere_each_quarter_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    _show_progress(iter(STEPS))
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith(ALL)] == [f"{ALL}: {done} of 8 steps" for done in (2, 4, 6, 8)]
