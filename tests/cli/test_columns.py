"""Tables that are wider than the terminal keep their names and every number."""

from __future__ import annotations

import pytest

from posenc.cli.answer import columns

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
