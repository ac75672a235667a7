"""Tables and sentences that are wider than the terminal keep every name, word and number whole."""

from __future__ import annotations

import io
import sys

import pytest

from posenc.cli.answer import Answer, Heading, Verbatim, columns
from posenc.cli.terminal import say

HEADERS = ["encoding", *(f"at {length}" for length in (32, 64, 128, 256, 512))]
ROWS = [["RoPE(dim=16)", *["0.123 ±0.004"] * 5], ["ALiBi(heads=4)", *["0.567 ±0.008"] * 5]]


@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
def test_every_part_of_a_wide_table_begins_with_the_names(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = [str(line) for line in columns(HEADERS, ROWS, range(1, 6))]
    text = "\n".join(lines)
    assert text.count("0.123 ±0.004") == text.count("0.567 ±0.008") == 5
    assert all(f"at {length}" in text for length in (32, 64, 128, 256, 512))
    assert all(line.startswith(("RoPE", "ALiBi")) for line in lines if "±" in line)
    assert max(map(len, lines)) <= width


def test_a_pipe_gets_whole_names_and_a_line_for_each(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    name = "Sum(parts=(Sinusoidal(dim=64), Learned(dim=64, length=32, outside='clamp'),))"
    lines = columns(HEADERS, [[name, *ROWS[0][1:]], *ROWS], range(1, 6), whole_names=True)
    assert [line.split("  ")[0] for line in lines] == ["encoding", name, "RoPE(dim=16)", "ALiBi(heads=4)"]
    assert all(line.count("±") == 5 for line in lines[1:])
    assert len(columns(HEADERS, [[name, *ROWS[0][1:]]], range(1, 6))) > 4


class Terminal(io.StringIO):
    """Takes text as a terminal does, whose width COLUMNS states."""

    def isatty(self) -> bool:
        return True


NAME = "model.layers.0.self_attn.k_proj.weight_of_a_very_long_name"
WHAT = "holds the rotated keys of every head, " * 6
LONG = f"the tensor {NAME} {WHAT}"


@pytest.mark.parametrize("width", [20, 80, 200])
def test_a_long_sentence_is_wrapped_between_words(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    stdout, stderr = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(sys, "stderr", stderr)
    table = columns(["tensor", "what"], [[NAME, WHAT]]) if width > len(NAME) else []
    planted = [LONG, Heading(LONG), f"paper   {LONG}", f"  {LONG}", *table]
    Answer(dict, lambda: planted).show(json=False)
    say(f"posenc explain: {LONG}")
    for shown in (stdout.getvalue(), stderr.getvalue()):
        lines = shown.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
        assert not [line for line in lines if len(line.rstrip()) > width and line.strip() != NAME and width > len(NAME)]
        assert set(" ".join(lines).split()) <= {*LONG.split(), "paper", "tensor", "what", "posenc", "explain:"}
    assert "\n  the tensor" in stdout.getvalue()
    assert "paper   the tensor" in stdout.getvalue()
    assert width > 80 or "\n        " in stdout.getvalue(), "a sentence goes on below itself"


def test_characters_of_two_columns_count_as_two(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys, "stdout", Terminal())
    Answer(dict, lambda: ["犬が人を噛む のはとても 珍しい"]).show(json=False)
    assert sys.stdout.getvalue().splitlines() == ["犬が人を噛む", "のはとても 珍しい"]


def test_a_pipe_gets_a_line_for_a_sentence_and_a_terminal_code_as_it_is(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    Answer(dict, lambda: [LONG, Heading(LONG)]).show(json=False)
    assert capsys.readouterr().out.splitlines() == [LONG, LONG]
    monkeypatch.setattr(sys, "stdout", Terminal())
    Answer(dict, lambda: [Verbatim(LONG)]).show(json=False)
    assert sys.stdout.getvalue().splitlines() == [LONG]
