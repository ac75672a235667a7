"""`check_code` from Python, as a test of one's own code would call it."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import torch

from posenc import ALiBi, RoPE, Sinusoidal
from posenc.core.text_lines import short
from posenc.diagnosis import CodeReport, check_code


def table(length, dim):
    angle = np.arange(length)[:, None] / 10_000 ** (np.arange(0, dim, 2) / dim)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, dim)


def late(length, dim):
    return table(length + 1, dim)[1:]


def test_right_code():
    report = check_code(table)
    assert (report.right, report.explained, report.findings) == (True, True, ())
    assert (report.door, report.convention, report.form) == ("adds", "Sinusoidal(dim=16)", "table(length, dim)")
    assert str(report).startswith("right\nIt is Sinusoidal(dim=16).\n")


def test_a_mistake_is_a_finding():
    report = check_code(late)
    assert [finding.name for finding in report.findings] == ["off by one"]
    assert (report.first_difference.position, report.first_difference.channel) == (0.0, 0)
    assert "mistake: off by one\nPositions start at 1.\nWhat to do: " in str(report)
    assert check_code(late, against=Sinusoidal(dim=16, start=1)).right


def with_last(positions, dim):
    """Refuses positions from 4,096 on."""
    rows = table(4096, dim)
    return rows[positions]


def cut(length, dim):
    """Returns 2,048 rows where more are asked for."""
    return table(min(length, 2048), dim)


def test_where_code_ends_is_found_and_said():
    cases = (
        (with_last, 4095, "It takes positions up to 4,095, and refuses 4,097: IndexError."),
        (cut, 2047, "It takes positions up to 2,047, and refuses 2,048: it returned shape (2048, 16) for 2049 "
                    "positions and width 16."),
    )  # fmt: skip
    for code, farthest, note in cases:
        report = check_code(code)
        assert (report.right, report.farthest_position) == (True, farthest)
        assert note in report.notes


def spoilt(first, last):
    def by_length(length, dim):
        rows = table(length, dim)
        rows[first : last + 1] = 0
        return rows

    return by_length


def spoilt_where_given(positions, dim):
    """All zeros at position 1,005."""
    return np.where(positions[:, None] == 1005, 0.0, table(100_004, dim)[positions])


def test_every_row_that_is_returned_is_compared():
    cases = (
        (spoilt(150, 189), "Right at 8,154 of the 8,194 positions that were compared, wrong at positions 150 to 189."),
        (spoilt(1005, 1005), "Right at 8,193 of the 8,194 positions that were compared, wrong at position 1005."),
        (spoilt_where_given, "Right at 2,999 of the 3,000 positions that were compared, wrong at position 1005."),
        (
            lambda length, dim: table(length, dim)[np.minimum(np.arange(length), 4095)],
            "Positions from 4096 on all get the values of position 4095, without a word.",
        ),
        (
            lambda length, dim: table(length, dim) * (np.arange(dim) < (200 if dim > 255 else dim)),
            "Right at the width asked for, wrong at width 512.",
        ),
    )
    for code, sentence in cases:
        report = check_code(code)
        (finding,) = report.findings
        assert not report.right
        assert finding.sentence.startswith(sentence)


def test_a_report_says_what_was_looked_at():
    lines = check_code(table).lines()
    assert any(line.startswith("numbers         131,104, positions 0 to 8,193, largest") for line in lines)
    assert "also compared   width 512, positions 0 to 599" in lines
    by_position = check_code(lambda position, dim: table(position + 1, dim)[-1]).lines()
    assert any("positions 0 to 40 and 42 of 41 to 100,003" in line for line in by_position), by_position
    by_positions = check_code(lambda positions, dim: table(100_004, dim)[positions])
    assert "positions 0 to 2,999" in by_positions.also_compared


def by_hugging_face(x, position_ids, base=10_000):
    angles = position_ids[:, :, None] * float(base) ** -(torch.arange(0, 16, 2) / 16)
    angles = torch.cat([angles, angles], -1)
    return angles.cos(), angles.sin()


def by_meta(dim, end, theta=10_000.0):
    angles = torch.outer(torch.arange(end), theta ** -(torch.arange(0, dim, 2) / dim))
    return torch.polar(torch.ones_like(angles), angles)


def by_gpt_j(seq_len, dim):
    angles = np.arange(seq_len)[:, None] / 10_000 ** (np.arange(0, dim, 2) / dim)
    return np.cos(angles).repeat(2, -1), np.sin(angles).repeat(2, -1)


@pytest.mark.parametrize(
    ("code", "convention", "said"),
    [
        (by_hugging_face, "RoPE(dim=16, pairing='halves')", "channels i and i + d/2 are read as a pair"),
        (by_meta, "RoPE(dim=16)", "which two channels form a pair, they do not say"),
        (by_gpt_j, "RoPE(dim=16)", "channels 2i and 2i + 1 are read as a pair"),
    ],
)
def test_cosines_and_sines_stand_for_rotations(code, convention, said):
    report = check_code(code)
    assert (report.right, report.convention) == (True, convention)
    assert any(said in note for note in report.notes)


def test_cosines_and_sines_are_compared_with_the_encoding_that_is_meant():
    assert check_code(by_meta, against=RoPE(dim=8, pairing="halves")).right  # they say nothing of pairs
    report = check_code(by_hugging_face, against=RoPE(dim=16, base=500.0))
    assert [finding.name for finding in report.findings] == ["layout", "base"]
    with pytest.raises(ValueError, match=r"it returned 2 results\. .* cosines and sines as \(length, width\)"):
        check_code(lambda length, dim: (np.zeros((3, 4)), np.zeros((3, 4))))


def test_another_layout_is_a_mistake_beside_an_encoding():
    def concatenated(length, dim):
        angles = np.arange(length)[:, None] / 10_000 ** (np.arange(0, dim, 2) / dim)
        return np.concatenate([np.sin(angles), np.cos(angles)], -1)

    assert check_code(concatenated).right
    report = check_code(concatenated, against=Sinusoidal(dim=8))
    assert [finding.sentence for finding in report.findings] == [
        "Sines and cosines are concatenated where interleaved is meant."
    ]


def test_a_report_is_frozen_data():
    with pytest.raises(dataclasses.FrozenInstanceError):
        check_code(table).right = False
    assert isinstance(check_code(table), CodeReport)
    assert check_code(table) == check_code(table)


def test_one_row_at_a_time_in_bfloat16():
    """A row keeps its type when rows are put together: its rounding is no mistake."""

    def row(position, dim):
        return torch.from_numpy(table(position + 1, dim)[-1]).bfloat16()

    report = check_code(row)
    assert (report.right, report.precision) == (True, "bfloat16")


def test_the_line_of_an_error_in_a_class_of_this_file():
    class Broken:
        def __init__(self, dim):
            self.dim = dim

        def __call__(self, x):
            return x / 0 + undefined  # noqa: F821

    with pytest.raises(
        ValueError, match=r"^target must be callable in a documented form; .*test_check_code.py, line \d+"
    ):
        check_code(Broken)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 15}, "dim must be an even integer"),
        ({"dim": 2}, "dim must be"),
        ({"base": 0.0}, "base must be"),
        ({"layout": "sideways"}, "layout must be one of"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        check_code(table, **options)


@pytest.mark.parametrize("against", [ALiBi(heads=8), RoPE(dim=8)])
def test_another_kind_of_encoding_than_the_one_that_is_meant(against):
    (finding,) = check_code(table, against=against).findings
    assert finding.sentence == f"It is an encoding that adds; {short(against)}, which is meant, {against.door}."


def test_it_needs_no_command_line():
    code = (
        "import sys; from posenc.diagnosis import check_code\n"
        "check_code(lambda length, dim: [[0.0] * dim] * length)\n"
        "print([name for name in sys.modules if name.startswith(('posenc.cli', 'tyro', 'rich'))])"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == "[]\n"
