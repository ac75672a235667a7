"""Pins of the oracles of scores that read content, and of the further rotations; next to each, where its numbers are
from."""

from __future__ import annotations

import math

import pytest

from oracles import (
    contextual_grape,
    cope,
    deberta,
    distance_bank,
    dual_base,
    forgetting,
    headwise_rope,
    learned_rope,
    path_grape,
    selective_rope,
    temperature,
    value_rotation,
    xpos,
)
from oracles.fields import Fields


def printed(values: list, digits: int = 4) -> list[float]:
    return [round(float(value), digits) for value in values]


def test_deberta_rows() -> None:
    # v1, the paper's δ: 0 for i - j ≤ -k, 2k - 1 for i - j ≥ k, else i - j + k.
    linear = Fields(buckets=3, max_distance=None)
    assert [deberta.row(linear, d) for d in (-9, -3, -2, 0, 2, 3, 9)] == [0, 0, 1, 3, 5, 5, 5]
    # v3 as released, 256 buckets up to 512: 1 … 128 as they are, then 128 + ⌈127·log_(511/128)(d/128)⌉.
    spaced = Fields(buckets=256, max_distance=512)
    assert [deberta.bucket(spaced, d) for d in (1, 128, 129, 130, 256, 511, -511, 512)] == [
        1, 128, 129, 130, 128 + math.ceil(127 * math.log(2) / math.log(511 / 128)), 255, -255, 256,
    ]  # fmt: skip
    assert [deberta.row(spaced, d) for d in (-512, -511, 511, 512)] == [0, 1, 511, 511]


def test_deberta_score() -> None:
    # By hand: rows of m - n = 1 for both terms, over √(2·3) = √6; one term alone over √4.
    encoding = Fields(dim=2, buckets=2, max_distance=None)
    table = [[[0, 0], [0, 0], [0, 0], [1, 2]]]
    both = {"position_keys": table, "position_queries": table}
    assert printed([deberta.score(encoding, 0, [1, 1], [10, 0], 5, 4, both)]) == [round(13 / 6**0.5, 4)]
    assert deberta.score(encoding, 0, [1, 1], [10, 0], 5, 4, {"position_keys": table}) == 1.5


def test_cope() -> None:
    # Keys of zero have gates of 1/2: the third key from the query counts 1.5, half way from row 1 to row 2.
    encoding, table = Fields(dim=1, rows=3), {"table": [[0.0], [10.0], [30.0]]}
    scores = [cope.score_among(encoding, 0, [1.0], [[0.0]] * 4, 2, [0, 1, 2, 3], j, table, None) for j in range(4)]
    assert scores == [20.0, 10.0, 5.0, 0.0]
    # Large keys have gates of one; position rows - 1 is the last.
    far = [cope.score_among(encoding, 0, [1.0], [[900.0]] * 4, 3, [0, 1, 2, 3], j, table, None) for j in range(4)]
    assert printed(far) == [30.0, 30.0, 30.0, 10.0]


def test_forgetting() -> None:
    # σ(0) = 1/2: two gates of one half between the query and the key; σ(ln 3) = 3/4.
    encoding, params = Fields(), {"W": [[1.0]], "c": [0.0]}
    scores = [
        forgetting.score_among(encoding, 0, None, [None] * 4, 2, [0, 1, 2, 3], j, params, [[9.0], [0.0], [0.0], [9.0]])
        for j in range(4)
    ]
    assert printed(scores) == printed([math.log(1 / 4), math.log(1 / 2), 0.0, 0.0])
    one = forgetting.score_among(encoding, 0, None, [None] * 2, 1, [0, 1], 0, params, [[0.0], [math.log(3)]])
    assert printed([one], 12) == printed([math.log(3 / 4)], 12)


def test_distance_bank() -> None:
    # By hand: 10·2 of profile 0 and 10·3 of profile 1 at the distance; nothing outside 0 … 1.
    encoding = Fields(basis=2, extent=2, model_dim=1)
    params = {"weights": [[[2.0, 3.0]]], "bank": [[1.0, 5.0], [0.0, 7.0]]}
    scores = [distance_bank.score_among(encoding, 0, None, None, 4, [2, 3, 4, 5], j, params, [10.0]) for j in range(4)]
    assert scores == [0.0, 310.0, 20.0, 0.0]


def test_xpos() -> None:
    # §3: ζ_i = (i/(d/2) + γ)/(1 + γ); with γ = 0.4, d = 4: 2/7 and 9/14. At a whole scale base the stretch is ζ itself.
    encoding = Fields(dim=4, base=1.0, gamma=0.4, scale_base=3.0, centre=2, pairing="adjacent")
    rotated = xpos.rotated(encoding, [1, 0, 1, 0], 5, "query", {})
    cosine, sine = math.cos(5), math.sin(5)
    assert printed(rotated) == printed([cosine * 2 / 7, sine * 2 / 7, cosine * 9 / 14, sine * 9 / 14])
    assert printed(xpos.rotated(encoding, [1, 0, 0, 0], 5, "key", {})[:2]) == printed([cosine * 7 / 2, sine * 7 / 2])
    # The centre cancels: q·k is that of the distance, ζ^(3/3)·cos 3.
    q, k = xpos.rotated(encoding, [1, 0, 0, 0], 9, "query", {}), xpos.rotated(encoding, [1, 0, 0, 0], 6, "key", {})
    assert float(sum(a * b for a, b in zip(q, k, strict=True))) == pytest.approx(2 / 7 * math.cos(3), abs=1e-15)


def test_dual_base() -> None:
    # By hand: base 1 turns both pairs of the first half by 1 rad, base 10^4 those of the second by 1 and 0.01 rad.
    encoding = Fields(dim=8, base=1.0, second_base=10_000.0, pairing="adjacent")
    one = [math.cos(1), math.sin(1)]
    assert printed(dual_base.rotated(encoding, [1, 0] * 4, 1, "both", {})) == printed([*one, *one, *one, 0.99995, 0.01])
    halves = Fields(dim=8, base=1.0, second_base=10_000.0, pairing="halves")
    found = dual_base.rotated(halves, [1, 1, 0, 0] * 2, 1, "both", {})
    assert printed(found) == printed([one[0], one[0], one[1], one[1], one[0], 0.99995, one[1], 0.01])


def test_learned_rope() -> None:
    params = {"frequencies": [math.pi / 2, 0.0]}
    adjacent = learned_rope.rotated(Fields(dim=4, pairing="adjacent"), [1, 0, 5, 6], 1, "both", params)
    assert printed(adjacent) == [0.0, 1.0, 5.0, 6.0]
    halves = learned_rope.rotated(Fields(dim=4, pairing="halves"), [1, 5, 0, 6], 3, "both", params)
    assert printed(halves) == [0.0, 5.0, -1.0, 6.0]


def test_value_rotation() -> None:
    # cos 1 = 0.5403, sin 1 = 0.8415 for values; the output goes back.
    encoding = Fields(encoding=Fields(dim=2, base=10_000.0, pairing="adjacent"))
    assert printed(value_rotation.rotated(encoding, [1, 0], 1, "value", {})) == [0.5403, 0.8415]
    assert printed(value_rotation.rotated(encoding, [1, 0], 1, "output", {})) == [0.5403, -0.8415]


def test_temperature() -> None:
    log_n, steps = Fields(length=100, start=1), Fields(scale=0.1, floor=4, start=1)
    assert [float(temperature.factor(log_n, place)) for place in (0, 99, 9999)] == [1.0, 1.0, 2.0]
    assert printed(temperature.rotated(steps, [1, 2], 40, "query", {})) == printed(
        [1.2397895, 2.479579]
    )  # 1 + ln(11)/10
    assert temperature.rotated(steps, [1, 2], 40, "key", {}) == [1, 2]


def test_selective_rope_adds_the_angles_of_keys() -> None:
    # By hand: w_out·w_in·x/|x| = ±π/2 a key, the filter its own key alone: quarter turns of one pair, there and back
    # again.
    encoding = Fields(dim=2, heads=1, model_dim=1, taps=1, base=10_000.0, gated=False, epsilon=0.0)
    params = {"w_in": [[1.0]], "w_out": [[[math.pi / 2]]], "filter": [[[1.0]]]}
    given = (params, [[3.0], [5.0], [-2.0]])
    assert printed(selective_rope.sums(encoding, 0, (2,), [0, 1, 2], *given)[0]) == [round(math.pi / 2, 4)]
    scores = [
        selective_rope.score_among(encoding, 0, [1.0, 0.0], [[1.0, 0.0]] * 3, 1, [0, 1, 2], key, *given)
        for key in (0, 1, 2)
    ]
    # A query of half a rotation: keys at a quarter, a half and a quarter; cosines 0, 1, 0, less the plain product of 1.
    assert printed(scores) == printed([-1 / math.sqrt(2), 0.0, -1 / math.sqrt(2)])
    # The filter reads the key before by the tap before: (π/2)·(1 + 1/2), and of one key alone no more than its own.
    encoding.taps, params["filter"] = 2, [[[0.5, 1.0]]]
    assert printed([selective_rope.angle(encoding, 0, 0, params, rows) for rows in ([[1.0]], [[1.0], [1.0]])]) == [
        1.5708,
        2.3562,
    ]


def test_contextual_grape_counts_the_time_before() -> None:
    # By hand: softplus(c) = π/2 a token; the place 2 has two tokens before it, the key at 1 one: cos(π/2) - 1.
    encoding = Fields(dim=2, own_clocks=False, own_frequencies=False)
    params = {"W": [[0.0]], "c": [math.log(math.expm1(math.pi / 2))], "log_frequencies": [[0.0]]}
    given = ([[1.0]] * 3, params)
    assert printed([contextual_grape.gone(encoding, 0, 2, [0, 1, 2], given[1], given[0])]) == [round(math.pi, 4)]
    score = contextual_grape.score_among(encoding, 0, [1.0, 0.0], [[1.0, 0.0]] * 3, 2, [0, 1, 2], 1, given[1], given[0])
    assert printed([score]) == [round(-1 / math.sqrt(2), 4)]
    # A quarter turn takes channel 1 to channel 0, not the other way about: q = (0, 1) becomes k = (1, 0).
    score = contextual_grape.score_among(encoding, 0, [0.0, 1.0], [[1.0, 0.0]] * 3, 1, [0, 1, 2], 0, given[1], given[0])
    assert printed([score]) == [round(1 / math.sqrt(2), 4)]


def test_path_grape_adds_the_gates_after_a_key() -> None:
    # By hand: the query's p is (0, 0), so every gate is 1/2; ALiBi's one slope is 1/256, and two keys lie after the
    # first.
    encoding = Fields(heads=1, width=2, epsilon=0.0)
    given = ([0, 1, 2], 0, {"W": [[[1.0, 0.0], [0.0, 1.0]]]}, [[0.0, 0.0], *[[1.0, 0.0]] * 3])
    assert path_grape.score_among(encoding, 0, [], [], 2, *given) == pytest.approx(-2 * math.log(2) / 256)
    assert [float(path_grape.slope(3, head)) for head in range(3)] == [2**-4, 2**-8, 2**-2]
    # p = (1, 0) asks a key at half a rotation: p̂ = √2·(-1, 0), a logit of -√2/2.
    given = ([0.0, math.pi], 0, given[2], [[1.0, 0.0]] * 3)
    assert [float(z) for z in path_grape.gates(encoding, 0, 4, *given)] == pytest.approx([-math.sqrt(2) / 2])


def test_headwise_rope_reads_one_coordinate_a_head() -> None:
    # The first head by the first coordinate, two by the second, the last not at all: quarter and half turns of (1, 0).
    encoding = Fields(dim=2, heads=4, shares=(1, 2), base=10_000.0, pairing="halves")
    assert [headwise_rope.axis_of(encoding, head) for head in range(4)] == [0, 1, 1, None]
    place = (math.pi / 2, math.pi)
    rotated = [printed(headwise_rope.rotated(encoding, [1.0, 0.0], place, "both", {}, head)) for head in (0, 2, 3)]
    assert rotated == [[0.0, 1.0], [-1.0, 0.0], [1.0, 0.0]]
