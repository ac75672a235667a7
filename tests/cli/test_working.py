"""The line that a terminal shows while an answer takes a few seconds."""

import sys

import pytest

from posenc.cli.working import working


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_is_told(monkeypatch, capsys, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with working("searching"):
        pass
    assert capsys.readouterr().out == ""
