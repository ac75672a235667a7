"""VRoPE and RoPE-Tie, token by token from their papers' formulas, and the rotations that go with them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from posenc import axial
from posenc.positions import Film, Image, Text, Video, rope_tie, vrope

CLIP = Video(3, 4, 6, merge=2, interval=1.0)


def test_vrope_counts_from_the_four_corners() -> None:
    found, following = vrope([Text(2), CLIP, Text(1), Image(5, 2, merge=1), Text(2)], start=7)
    expected = [[7] * 4, [8] * 4]
    for begins, rows, columns in (*((9 + 4 * frame, 2, 3) for frame in range(3)), (22, 5, 2)):
        if begins == 22:
            expected.append([21] * 4)
        for r in range(rows):
            for c in range(columns):
                corners = [(0, 0), (0, columns - 1), (rows - 1, 0), (rows - 1, columns - 1)]
                expected.append([begins + abs(r - i) + abs(c - j) for i, j in corners])
    assert found.tolist() == [*expected, [28] * 4, [29] * 4]
    assert following == 30


def test_vrope_of_an_image_turns_every_fourth_pair_by_one_corner() -> None:
    positions, _ = vrope([Image(3, 2, merge=1)])
    cos = axial("vrope", (2, 2, 2, 2), base=100.0).rotation(positions).cos
    for token, place in enumerate(positions.tolist()):
        known = [math.cos(place[pair % 4] * 100.0 ** (-pair / 8)) for pair in range(8)]
        assert np.abs(cos[token] - known).max() <= 2.0**-49


def test_rope_tie_keeps_the_middle_of_an_image_in_the_middle() -> None:
    found, following = rope_tie([Text(3), Image(4, 6, merge=2), Image(3, 3, merge=1), Text(2)], start=1)
    expected = [[1, 1], [2, 2], [3, 3]]
    for begins, rows, columns in ((4, 2, 3), (10, 3, 3)):
        for r in range(rows):
            for c in range(columns):
                middle = begins + rows * columns / 2
                expected.append([math.floor(middle - rows / 2 + r), math.floor(middle - columns / 2 + c)])
    assert found.tolist() == [*expected, [19, 19], [20, 20]]
    assert following == 21


def test_nothing() -> None:
    assert vrope([])[0].shape == (0, 4)
    assert rope_tie([], start=3)[0].shape == (0, 2)
    assert (vrope([], start=4)[1], rope_tie([], start=4)[1]) == (4, 4)


REFUSED = [
    (lambda: vrope(Text(2)), TypeError, "segments must be a list of Text, Image and Video"),
    (lambda: vrope([3]), TypeError, "segments must hold Text, Image and Video; got 3"),
    (lambda: vrope([Film(CLIP, Text(4), 2)]), TypeError, "segments must hold Text, Image and Video"),
    (lambda: vrope([Video(3, 4, 6, merge=2, interval=2.0)]), ValueError, "segments must hold videos of interval 1"),
    (lambda: vrope([], start=-1), ValueError, "start must be an integer from 0"),
    (lambda: rope_tie([CLIP]), TypeError, "segments must hold Text and Image alone"),
    (lambda: rope_tie("ab"), TypeError, "segments must be a list of Text, Image and Video"),
    (lambda: rope_tie([], start=0.5), TypeError, "start must be an integer"),
]


@pytest.mark.parametrize(("call", "error", "begins"), REFUSED)
def test_refused(call, error: type, begins: str) -> None:
    with pytest.raises(error, match=f"^{begins}"):
        call()
