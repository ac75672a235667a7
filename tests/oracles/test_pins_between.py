"""Pins of the oracles of scores that read what lies between, or all heads; next to each, where its numbers are from."""

from __future__ import annotations

import math

import pytest

from oracles import additive_grape, dape, dape_v2, gated_bias, path, row_gate
from oracles.fields import Fields
from posenc import ALiBi

#: Slope 1/2 for the one head.
SLOPE = ALiBi(heads=1, steepest=1.0)


def test_path() -> None:
    # β = 2 and w along the first channel: each key between mirrors that channel. Two mirrors cancel.
    encoding = Fields(dim=2, model_dim=1, rank=1, taps=1, epsilon=0.0)
    params = {"w_in": [[1.0]], "w_out": [[[1.0], [0.0]]], "filter": [[[1.0], [1.0]]]}
    params |= {"beta_weight": [[0.0]], "beta_bias": [900.0]}
    keys, x = [0, 1, 2, 3], [[1.0]] * 4
    found = [path.score_among(encoding, 0, [1.0, 1.0], [[3.0, 5.0]] * 4, 2, keys, j, params, x) for j in range(4)]
    # (±3 + 5 - 8)/√2: none left of two mirrors, -6/√2 of one, nothing at the query or ahead of it.
    assert [round(float(value), 9) for value in found] == [0.0, round(-6 / math.sqrt(2), 9), 0.0, 0.0]


def test_path_filter() -> None:
    # Three taps 1, 10, 100 on inputs 1, 2, 3, own last: w ∝ silu of (321, 0), so along the first channel.
    encoding = Fields(dim=2, model_dim=1, rank=1, taps=3, epsilon=0.0)
    params = {"w_in": [[1.0]], "w_out": [[[1.0], [-1.0]]], "filter": [[[1.0, 10.0, 100.0]] * 2]}
    found = path.direction(encoding, 0, params, [[1.0], [2.0], [3.0]])
    assert [round(float(value), 9) for value in found] == [1.0, 0.0]
    params["filter"] = [[[0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]]  # own 3 and twice-signed 2: silu 3 and silu 2
    silu = [3 / (1 + math.exp(-3)), 2 / (1 + math.exp(-2))]
    found = path.direction(encoding, 0, params, [[1.0], [2.0], [3.0]])
    assert [float(value) for value in found] == pytest.approx([part / math.hypot(*silu) for part in silu], abs=1e-15)


def test_dape() -> None:
    # By hand: A = 2·3/√4 = 3, B = -1/2·2 = -1; hidden 1·3 + 2·(-1) + 1 = 2 and -3 → -0.03; -1 + 10·2 + 100·(-0.03) + 5.
    encoding = Fields(dim=4, encoding=SLOPE, width=2)
    params = {"weight_in": [[1.0, 2.0], [-1.0, 0.0]], "bias_in": [1.0, 0.0]}
    params |= {"weight_out": [[10.0, 100.0]], "bias_out": [5.0]}
    found = dape.score_heads(encoding, 0, [[2.0, 0, 0, 0]], [[[3.0, 0, 0, 0]]], 2, [0], 0, params)
    assert float(found) == pytest.approx(21.0, abs=1e-14)


def test_dape_v2() -> None:
    # The first convolution passes A of the key behind (t = 2), the second adds the hidden places on both sides.
    encoding = Fields(dim=1, encoding=SLOPE, width=1, kernel=3)
    params = {"weight_in": [[[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]], "bias_in": [0.5], "bias_out": [0.0]}
    params |= {"weight_out": [[[1.0, 0.0, 1.0]]]}
    ks = [[[10.0], [20.0], [30.0], [40.0]]]
    found = [dape_v2.score_heads(encoding, 0, [[1.0]], ks, 2, [0, 1, 2, 3], j, params) for j in range(4)]
    # Hidden: 20.5, 30.5, 0.5 (nothing seen behind), 0.5. Sums of neighbours: 30.5, 21, 31, nothing ahead.
    assert [float(value) for value in found] == [30.5 - 1, 21 - 0.5, 31.0, 0.0]


def test_gated_bias() -> None:
    # σ(4·ln 3/4) = 3/4 and σ(0) = 1/2: 3/4·(1/2·6 - 1) + 2 = 3.5, times -1/2·2.
    encoding = Fields(dim=1, encoding=SLOPE)
    params = {"weight": [[math.log(3) / 4]] * 4 + [[0.0]] * 4, "bias": [0.0] * 8, "constant": [6.0]}
    found = gated_bias.score_among(encoding, 0, None, None, 5, [3], 0, params, [1.0])
    assert float(found) == pytest.approx(-3.5, abs=1e-14)


def test_additive_grape() -> None:
    # softplus(ln(e - 1)) = 1 and softplus(ln(e² - 1)) = 2; v along (3, 4)/5 meets q = (3, 4)·s with v·q/√2 = 5s/√2.
    encoding = Fields(dim=2, heads=8, normalised=True)
    one, two = math.log(math.e - 1), math.log(math.e**2 - 1)
    params = {"omega": [one] * 8, "v": [[30.0, 40.0]] * 8}
    q = [part * two * math.sqrt(2) / 5 for part in (3.0, 4.0)]
    found = additive_grape.score_among(encoding, 0, q, [None] * 2, 7, [4, 9], 0, params, None)
    assert float(found) == pytest.approx(-3 * 0.5 * 2, abs=1e-13)  # the first slope of eight heads is 1/2
    assert additive_grape.score_among(encoding, 0, q, [None] * 2, 7, [4, 9], 1, params, None) == 0


def test_row_gate() -> None:
    # σ(0) = 1/2 and σ(ln 3) = 3/4: the keys from 0 up to, but not at, 2.
    encoding, params = Fields(width=1, model_dim=1), {"W": [[[1.0]]], "U": [[[1.0]]]}
    x = [[1.0], [0.0], [math.log(3)], [9.0], [9.0]]
    found = [row_gate.score_among(encoding, 0, None, None, 2, [0, 1, 2, 3], j, params, x) for j in range(4)]
    wanted = [math.log(1 / 2 * 3 / 4), math.log(3 / 4), 0.0, 0.0]
    assert [float(value) for value in found] == pytest.approx(wanted, abs=1e-15)
