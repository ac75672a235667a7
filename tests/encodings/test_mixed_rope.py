"""Learned frequencies over two axes: how they begin, by hand, and refused fields."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracles import mixed_rope
from posenc import MixedRoPE


def test_the_beginning() -> None:
    first, second = MixedRoPE(dim=16).init(np.random.default_rng(3))["frequencies"]
    lengths = 10.0 ** (-4 * np.arange(4) / 16)
    assert np.allclose(np.hypot(first, second), [*lengths, *lengths], rtol=1e-15)
    assert np.allclose(first[:4] * first[4:] + second[:4] * second[4:], 0, atol=1e-16)  # across each other
    assert np.allclose(np.arctan2(second[:4], first[:4]), np.arctan2(second[0], first[0]))  # one direction


def test_by_hand() -> None:
    encoding = MixedRoPE(dim=4, pairing="halves")
    pin = mixed_rope.rotated(encoding, [1, 0, 0, 0], (1, 1), "both", {"frequencies": [[1.0, 2.0], [-0.5, 0.5]]})
    assert [round(float(value), 6) for value in pin] == [0.877583, 0.0, 0.479426, 0.0]  # cos and sin of 1 - 1/2


@pytest.mark.parametrize(
    ("fields", "begins"),
    [
        ({"dim": 6}, "dim must be a multiple of 4"),
        ({"dim": 2}, "dim must be an even integer from 4"),
        ({"base": 0.0}, "base must be"),
        ({"pairing": "both"}, "pairing must be"),
    ],
)
def test_refused_fields(fields: dict[str, Any], begins: str) -> None:
    with pytest.raises(ValueError, match=f"^{begins}"):
        MixedRoPE(**({"dim": 8} | fields))
