"""The oracles of biases of one axis, pinned to numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from oracles import (
    alibi,
    bounded_alibi,
    dynamic_position_bias,
    fire,
    kerple_log,
    kerple_power,
    relative_bias,
    sandwich,
    t5_bias,
)
from oracles.fields import Fields


def test_alibi_rules() -> None:
    # 2^(-8·3/12) for the third of twelve heads; exponents -1, -3, -5 for three heads down to 2^-5; and the sign.
    geometric = Fields(heads=12, steepest=8.0, rule="geometric", form="symmetric")
    assert alibi.bias(geometric, 2, 0, 1) == -0.25
    linear = Fields(heads=3, steepest=5.0, rule="linear", form="signed")
    assert [alibi.bias(linear, head, 0, 2) for head in range(3)] == [1.0, 0.25, 0.0625]
    assert alibi.bias(linear, 0, 2, 0) == -1.0


def test_t5_scale() -> None:
    # The bias of x-transformers is T5's times √64.
    encoding = Fields(buckets=32, max_distance=128, bidirectional=True, scale=8.0)
    assert t5_bias.bias(encoding, 0, 4, 3, {"table": [[0.0], [2.0]]}) == 16.0


def test_bounded_alibi() -> None:
    # Head 1 of 8 has slope 1/4: 3 · 1/4 · 4 = 3, above a floor of -5 and below one of -2; signs do not matter.
    for bound, wanted in ([[5.0], -3.0], [[0.0, -2.0, 0, 0, 0, 0, 0, 0], -2.0]):
        assert bounded_alibi.bias(Fields(heads=8), 1, 2, 6, {"scale": -3.0, "bound": bound}) == wanted


def test_kerple() -> None:
    # 3·ln(1 + 0.5·4) = 3 ln 3, and 2·9^1.5 = 54; below the floor r1 is 0.01, above 2 r2 is 2.
    params = {"r1": [3.0, 0.001], "r2": [0.5, 1.0]}
    assert float(kerple_log.bias(None, 0, 1, 5, params)) == pytest.approx(-3 * math.log(3), rel=1e-15)
    assert float(kerple_log.bias(None, 1, 1, 1, params)) == 0.0
    assert float(kerple_log.bias(None, 1, 9, 2, params)) == pytest.approx(-0.01 * math.log(8), rel=1e-15)
    params = {"r1": [2.0, -1.0], "r2": [1.5, 7.0]}
    assert float(kerple_power.bias(None, 0, 10, 1, params)) == -54.0
    assert float(kerple_power.bias(None, 1, 1, 4, params)) == pytest.approx(-0.09, rel=1e-15)
    assert float(kerple_power.bias(None, 0, 3, 3, params)) == 0.0


def test_sandwich() -> None:
    # At distance 0 every cosine is 1: 64 of them, divided by 8/12 for the first of twelve heads and by 8 for the last.
    encoding = Fields(heads=12, dim=128, base=10_000.0)
    assert float(sandwich.bias(encoding, 0, 5, 5)) == pytest.approx(96, rel=1e-15)
    assert float(sandwich.bias(encoding, 11, 5, 5)) == pytest.approx(8, rel=1e-15)
    # Two waves, 1 and 1/100: cos 3 + cos 0.03 of a table of cosines, by 8·2/2.
    small = Fields(heads=2, dim=4, base=10_000.0)
    assert float(sandwich.bias(small, 1, 1, 4)) == pytest.approx((-0.9899924966 + 0.9995500337) / 8, rel=1e-7)


def test_relative_bias() -> None:
    # Three places: query minus key is -2 … 2, rows 0 … 4, as in a Swin window of three.
    table = {"table": [[float(row), -float(row)] for row in range(5)]}
    encoding = Fields(clip=2)
    assert [relative_bias.bias(encoding, 0, 0, key, table) for key in range(3)] == [2.0, 1.0, 0.0]
    assert [relative_bias.bias(encoding, 1, 2, key, table) for key in (-9, 0, 1, 2)] == [-4.0, -4.0, -3.0, -2.0]


def test_fire() -> None:
    # ψ with c = 1 of 1 and 3 is ln 2 and ln 4, a half; two units max(0, s) and max(0, 1 - s), 10 and 100 times, plus 3.
    params = {
        "c": 1.0, "multiplier": -1.0, "weight_in": [1.0, -1.0], "bias_in": [0.0, 1.0],
        "weight_out": [[0.0, 0.0], [10.0, 100.0]],
        "bias_out": [0.0, 3.0],
    }  # fmt: skip
    encoding = Fields(threshold=3.0, epsilon=0.0, width=2)
    assert float(fire.bias(encoding, 1, 1, 0, params)) == pytest.approx(58.0, rel=1e-15)
    # Beyond the threshold the query's own position measures: ln 8 / ln 8 from 7 to 0.
    assert float(fire.bias(encoding, 1, 7, 0, params)) == pytest.approx(13.0, rel=1e-15)
    # The key's position does not: ln 4 / ln 4 from 0 to 3.
    assert float(fire.bias(encoding, 1, 0, 3, params)) == pytest.approx(13.0, rel=1e-15)


def test_dynamic_position_bias() -> None:
    # SiLU(2) = 1.76159415596 and SiLU(-2) = -0.238405844; the sign is query minus key.
    params = {"weight_in": [1.0], "bias_in": [0.0], "weight_out": [[0.0], [3.0]], "bias_out": [0.0, 1.0]}
    encoding = Fields(depth=1, dim=1, log_distance=False)
    assert float(dynamic_position_bias.bias(encoding, 1, 5, 3, params)) == pytest.approx(
        1 + 3 * 1.76159415596, rel=1e-10
    )
    assert float(dynamic_position_bias.bias(encoding, 1, 3, 5, params)) == pytest.approx(
        1 - 3 * 0.23840584404, rel=1e-9
    )
    # e - 1 steps back read 1, and SiLU(SiLU(1)·2 + 1) = SiLU(2.46211715726) with a hidden layer.
    deeper = {**params, "weight_hidden": [[[2.0]]], "bias_hidden": [[1.0]]}
    x = 2 * 0.73105857863 + 1
    found = dynamic_position_bias.bias(Fields(depth=2, dim=1, log_distance=True), 1, math.e - 1, 0.0, deeper)
    assert float(found) == pytest.approx(1 + 3 * x / (1 + math.exp(-x)), rel=1e-9)
