"""Rotations with an axis for each group of heads: refused fields, and that a group is RoPE by its own coordinate."""

import numpy as np
import pytest

from posenc import HeadwiseRoPE, RoPE
from posenc.positions import grid


@pytest.mark.parametrize(
    ("fields", "error", "begins"),
    [
        ({"dim": 3}, ValueError, "dim must be"),
        ({"heads": 0}, ValueError, "heads must be"),
        ({"heads": 2}, ValueError, "shares must be at most heads=2 together"),
        ({"shares": 3}, TypeError, "shares must be a tuple of 2 to 16"),
        ({"shares": (4,)}, TypeError, "shares must be a tuple of 2 to 16"),
        ({"shares": (1,) * 17}, TypeError, "shares must be a tuple of 2 to 16"),
        ({"shares": (1, 0)}, ValueError, "shares must be"),
        ({"shares": (1, 1.5)}, TypeError, "shares must be"),
        ({"base": -1.0}, ValueError, "base must be"),
        ({"pairing": "both"}, ValueError, "pairing must be"),
    ],
)
def test_refused_fields(fields: dict, error: type, begins: str) -> None:
    with pytest.raises(error, match=f"^{begins}"):
        HeadwiseRoPE(**({"dim": 4, "heads": 12, "shares": (4, 6)} | fields))


@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_a_group_is_rope_by_its_own_coordinate(pairing: str) -> None:
    places = grid(3, 5)
    q = np.random.default_rng(0).standard_normal((1, 12, 15, 8))
    rotated = HeadwiseRoPE(dim=8, heads=12, shares=(4, 6), pairing=pairing).rotation(places)(q, layout="bhtd")
    for axis, heads in ((0, slice(4)), (1, slice(4, 10))):
        own = RoPE(dim=8, pairing=pairing).rotation(places[:, axis])
        assert np.array_equal(rotated[:, heads], own(q[:, heads], layout="bhtd"))
    assert np.array_equal(rotated[:, 10:], q[:, 10:])
