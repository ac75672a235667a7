"""The oracles of encodings made of encodings, pinned to numbers worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

from oracles import backward, concatenated, learned_scale, partial, scaled, summed
from oracles.fields import Fields


class Learned(Fields):
    """A table of two rows."""


class RoPE(Fields):
    """One plane, whose angle is the position."""


TABLE = Learned(outside="error")
ROWS = {"table": [[1.0, 2.0], [3.0, 5.0]]}


def test_a_sum_adds_rows_of_its_parts() -> None:
    encoding = SimpleNamespace(parts=(TABLE, TABLE))
    params = {"0.table": ROWS["table"], "1.table": [[10.0, 20.0], [-3.0, 40.0]]}
    assert summed.row(encoding, 1, params) == [0.0, 45.0]
    assert summed.magnitude(encoding, 1, params) == [6.0, 45.0]


def test_factors_multiply() -> None:
    assert scaled.row(SimpleNamespace(encoding=TABLE, factor=-0.5), 1, ROWS) == [-1.5, -2.5]
    params = {"scale": 4.0, "inner.table": ROWS["table"]}
    assert learned_scale.row(SimpleNamespace(encoding=TABLE), 0, params) == [4.0, 8.0]


def test_a_row_stands_behind_the_embedding() -> None:
    assert concatenated.attached(SimpleNamespace(encoding=TABLE), [7.0], 1, ROWS) == [7.0, 3.0, 5.0]


def test_a_slice_turns() -> None:
    rope = RoPE(dim=2, base=10_000.0, pairing="adjacent", head_dim=2)
    rotated = partial.rotated(SimpleNamespace(encoding=rope, start=1, dim=4), [9.0, 1.0, 0.0, 8.0], 1)
    assert [round(float(value), 12) for value in rotated] == [9.0, round(math.cos(1), 12), round(math.sin(1), 12), 8.0]


def test_a_rotation_goes_the_other_way_round() -> None:
    rope = RoPE(dim=2, base=10_000.0, pairing="halves", head_dim=2)
    rotated = backward.rotated(SimpleNamespace(encoding=rope), [1.0, 2.0], 1)
    wanted = [math.cos(1) + 2 * math.sin(1), 2 * math.cos(1) - math.sin(1)]
    assert [round(float(value), 12) for value in rotated] == [round(value, 12) for value in wanted]


def test_the_channels_of_a_pair_are_swapped_by_either_pairing() -> None:
    for pairing, wanted in (("adjacent", [1, 0, 3, 2]), ("halves", [2, 3, 0, 1])):
        assert backward._swapped(SimpleNamespace(pairing=pairing), [0, 1, 2, 3]) == wanted
