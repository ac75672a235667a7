"""The oracles of maps that are no rotation of pairs, pinned to numbers worked out by hand."""

from __future__ import annotations

import math

from oracles import cayley_string, comrope, fope, liere, multiplicative_grape, pope, rope_pp, spherical_rope, xd_rope
from oracles.fields import Fields

COS, SIN = math.cos(1), math.sin(1)


def rounded(values: list) -> list[float]:
    return [round(float(value), 12) for value in values]


def near(values: list[float]) -> list[float]:
    return [round(value, 12) for value in values]


def test_string_turns_by_the_sum_over_the_axes() -> None:
    encoding = Fields(dim=2, axes=2)
    params = {"frequencies": [[1.0], [10.0]], "A": [[0.0, 0.0], [0.0, 0.0]]}
    assert rounded(cayley_string.rotated(encoding, [1.0, 0.0], (-9, 1), "both", params)) == near([COS, SIN])


def test_the_cayley_transform_of_one_in_the_plane_is_a_quarter_turn() -> None:
    """S = [[0, 1], [-1, 0]]: (I - S)(I + S)⁻¹ is [[0, -1], [1, 0]], by hand; with it, channels 0 and 2 turn
    together."""
    assert rounded(cayley_string.orthogonal([[0.0, 1.0], [0.0, 0.0]])) == [0.0, -1.0, 1.0, 0.0]
    swap = [[0.0] * 4 for _ in range(4)]
    swap[1][2] = 1.0
    encoding, params = Fields(dim=4, axes=1), {"frequencies": [[1.0, 0.0]], "A": swap}
    assert rounded(cayley_string.rotated(encoding, [1.0, 5.0, 0.0, 7.0], 1, "both", params)) == near(
        [COS, 5.0, SIN, 7.0]
    )


def test_grape_turns_b_to_a() -> None:
    """L = a·bᵀ - b·aᵀ takes b to |b|²·a: in the plane of two unit vectors, b turns to a by the angle n·ω."""
    encoding, params = Fields(dim=3, rate=0.5), {"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0]}
    assert rounded(multiplicative_grape.rotated(encoding, [0.0, 1.0, 4.0], 2, "both", params)) == near([SIN, COS, 4.0])
    wide = {"a": [2.0, 0.0, 0.0], "b": [7.0, 3.0, 0.0]}  # an area of 6, whatever lies along a
    assert rounded(multiplicative_grape.rotated(Fields(dim=3, rate=1 / 6), [0.0, 1.0, 4.0], 1, "both", wide)) == near(
        [SIN, COS, 4.0]
    )


def test_pope_has_lengths_and_angles() -> None:
    """softplus(0) = ln 2 at the angle 2·100^(-1/2) = 0.2 for channel 1; a key's phase is added, and kept below zero."""
    encoding, length = Fields(dim=2, base=100.0), math.log(2)
    query = pope.rotated(encoding, [0.0, 0.0], 2, "query", {"phase": [[9.0, 9.0]]}, 0)
    assert rounded(query) == near(
        [length * math.cos(2), length * math.cos(0.2), length * math.sin(2), length * math.sin(0.2)]
    )
    key = pope.rotated(encoding, [0.0, 0.0], 2, "key", {"phase": [[9.0, 9.0], [9.0, -0.2]]}, 1)
    assert rounded(key) == near([length * math.cos(2), length, length * math.sin(2), 0.0])


def test_fope_drops_what_does_not_turn_in_the_trained_length() -> None:
    """Of the periods 2π and 200π of a head of four one fits in 100 positions; the released codes pad with 0 and with
    1."""
    params = {"cosines": [[[2.0]]], "sines": [[[3.0]]]}
    zero, one = (Fields(dim=4, base=10_000.0, length=100, padding=padding) for padding in ("zero", "one"))
    assert len(fope.kept(zero)) == 1
    assert rounded(fope.rotated(zero, [1.0, 5.0, 0.0, 7.0], 1, "both", params, 0)) == near([2 * COS, 5.0, 3 * SIN, 7.0])
    assert rounded(fope.rotated(one, [1.0, 5.0, 0.0, 7.0], 1, "both", params, 0)) == near(
        [2 * COS, -2.0, 3 * SIN, 12.0]
    )


def test_fope_mixes_frequencies() -> None:
    encoding = Fields(dim=4, base=4.0, length=100, padding="zero")  # 1 and 1/2
    params = {"cosines": [[[0.0, 1.0], [1.0, 0.0]]], "sines": [[[0.0, 0.0], [0.0, 0.0]]]}
    rotated = fope.rotated(encoding, [1.0, 1.0, 0.0, 0.0], 2, "both", params, 0)
    assert rounded(rotated) == near([math.cos(1), math.cos(2), 0.0, 0.0])


def test_imaginary_heads_take_sine_for_cosine() -> None:
    """The released code: q·sin - rotate_half(q)·cos, where rotate_half takes (a, b) to (-b, a)."""
    encoding, (a, b) = Fields(dim=2, base=10_000.0, pairing="halves"), (2.0, 5.0)
    assert rounded(rope_pp.rotated(encoding, [a, b], 1, "query", {}, 1)) == near([a * SIN + b * COS, b * SIN - a * COS])
    assert rounded(rope_pp.rotated(encoding, [a, b], 1, "query", {}, 2)) == near([a * COS - b * SIN, b * COS + a * SIN])
    assert rounded(rope_pp.rotated(encoding, [a, b], 1, "key", {}, 1)) == near([a * COS - b * SIN, b * COS + a * SIN])


def test_liere_turns_in_the_plane_of_its_generator() -> None:
    """U above the diagonal is 1 for (0, 1): exp of [[0, p], [-p, 0]] takes (1, 0) to (cos p, -sin p)."""
    encoding, flat = Fields(dim=2, block=2, axes=1), {"generators": [[[[[5.0, 1.0], [9.0, 5.0]]]]]}
    assert rounded(liere.rotated(encoding, [1.0, 0.0], 1, "both", flat, 0)) == near([COS, -SIN])
    both = Fields(dim=2, block=2, axes=2)
    twice = {"generators": [flat["generators"][0], [[[[0.0, -2.0], [0.0, 0.0]]]]]}
    assert rounded(liere.rotated(both, [1.0, 0.0], (3, 1), "both", twice, 0)) == near([COS, -SIN])


def test_liere_in_space_is_rodrigues() -> None:
    """Rotating by π/2 about the third of three channels, then by hand: (1, 0, 4) to (0, -1, 4)."""
    drawn = [[0.0, math.pi / 2, 0.0], [0.0] * 3, [0.0] * 3]
    encoding, params = Fields(dim=3, block=3, axes=1), {"generators": [[[drawn]]]}
    assert rounded(liere.rotated(encoding, [1.0, 0.0, 4.0], 1, "both", params, 0)) == [0.0, -1.0, 4.0]


def test_comrope_in_both_ways() -> None:
    f = [[0.0, 1.0], [0.0, 0.0]]
    dependent = Fields(dim=2, block=2, axes=2, commuting="dependent")
    params = {"generators": [[f]], "multiplier": [[1.0], [10.0]]}
    assert rounded(comrope.rotated(dependent, [1.0, 0.0], (-9, 1), "both", params, 0)) == near([COS, -SIN])
    partition = Fields(dim=4, block=2, axes=2, commuting="partition")
    rotated = comrope.rotated(partition, [1.0, 0.0, 1.0, 0.0], (0, 1), "both", {"generators": [[f, f]]}, 0)
    assert rounded(rotated) == near([1.0, 0.0, COS, -SIN])


def test_the_two_channels_of_a_pair_read_two_coordinates() -> None:
    """Sections (1, 1) over four channels: 0 and 1 read the first coordinate, 2 and 3 the second; by hand for (1, 0)."""
    encoding = Fields(sections=(1, 1), base=10_000.0, scaling=None)
    assert rounded(xd_rope.rotated(encoding, [1.0, 0.0, 2.0, 0.0], (1, 0), "both", {})) == near(
        [COS - 2 * SIN, 0.0, 2.0, 0.0]
    )
    assert rounded(xd_rope.rotated(encoding, [1.0, 0.0, 2.0, 0.0], (0, 1), "both", {})) == near(
        [1.0, 0.0, 2 * COS + SIN, 0.0]
    )


def test_a_triple_yaws_and_then_rolls() -> None:
    """Quarter turns by hand: yaw takes the first channel to the third, and roll that one to minus the second."""
    encoding, quarter = Fields(dim=3, base=100.0), math.pi / 2
    assert rounded(spherical_rope.rotated(encoding, [1.0, 0.0, 0.0], (0, quarter), "both", {})) == [0.0, 0.0, 1.0]
    assert rounded(spherical_rope.rotated(encoding, [1.0, 0.0, 0.0], (quarter, quarter), "both", {})) == [
        0.0,
        -1.0,
        0.0,
    ]
