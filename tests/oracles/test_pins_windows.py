"""Pins of the oracles of grids and graphs; next to each, where its numbers are from."""

from __future__ import annotations

import math

import pytest

from oracles import decomposed, graph_distance, log_cpb, window_bias
from oracles.fields import Fields


def test_window_rows() -> None:
    # By hand: distance (0, 0) is row 4 of 9, a step down three rows, a step to the right one.
    places = [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [[window_bias.row((2, 2), m, n) for n in places] for m in places] == [
        [4, 3, 1, 0],
        [5, 4, 2, 1],
        [7, 6, 4, 3],
        [8, 7, 5, 4],
    ]
    assert window_bias.row((2, 3), (9, -9), (0, 0)) == 10  # row +1, column -2


def test_log_spaced_coordinates() -> None:
    # From a window of 8 to one of 16 distances grow from 7 to 15, by 1.14 of their range, and their logarithms by 0.33.
    inside, outside = (float(log_cpb.read(8, step, 0)) for step in (7, 15))
    assert inside == pytest.approx(math.log2(9) / 3, abs=1e-15)
    plain = [math.log(1 + step) for step in (7, 15)]
    assert round(plain[1] / plain[0] - 1, 2) == 0.33
    assert round(15 / 7 - 1, 2) == 1.14
    assert outside / inside - 1 < 0.34
    encoding = Fields(window=(9, 9), width=1)
    params = {"weight_in": [[1.0, 0.0]], "bias_in": [0.0], "weight_out": [[math.log(3)]]}
    assert float(log_cpb.bias(encoding, 0, (7, 0), (0, 3), params)) == pytest.approx(12.0, abs=1e-14)  # 16·σ(ln 3)


def test_graph_distance() -> None:
    # A path of four nodes: the distance of its ends is 3, whatever nodes lie between.
    path = [(0, 1, 2, 3), (1, 0, 1, 2), (2, 1, 0, 1), (3, 2, 1, 0)]
    assert [graph_distance.distance(path[0], row) for row in path] == [0, 1, 2, 3]
    table = {"table": [[5.0], [6.0], [7.0]]}
    assert [graph_distance.bias(Fields(rows=3), 0, path[0], row, table) for row in path] == [5.0, 6.0, 7.0, 7.0]


def test_decomposed() -> None:
    # By hand: one row down reads row 2 of three, two columns to the right of the query row 0 of five.
    params = {"axis_0": [[1.0], [2.0], [3.0]], "axis_1": [[10.0], [20.0], [30.0], [40.0], [50.0]]}
    encoding = Fields(size=(2, 3), dim=1)
    assert decomposed.score_among(encoding, 0, [2.0], [None], (1, 0), [(0, 2)], 0, params, None) == 2 * (3 + 10)


def test_a_class_token_has_the_last_three_rows() -> None:
    """By hand for a window of 1 × 2: three rows of distances, then from the token, to it, and from it to itself."""
    encoding, table = Fields(window=(1, 2), class_token=True), {"table": [[0], [1], [2], [3], [4], [5]]}
    token, patch = (-1, 0), (0, 1)
    pairs = ((token, patch), (patch, token), (token, token), (patch, patch))
    assert [window_bias.bias(encoding, 0, m, n, table) for m, n in pairs] == [3, 4, 5, 1]
