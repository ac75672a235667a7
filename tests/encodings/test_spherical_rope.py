"""Spherical RoPE: refused fields, and that one coordinate alone is a rotation of pairs."""

import numpy as np
import pytest

from posenc import RoPE, SphericalRoPE


@pytest.mark.parametrize(
    ("fields", "error", "begins"),
    [
        ({"dim": 4}, ValueError, "dim must be a multiple of 3; got 4. Give 6"),
        ({"dim": 0}, ValueError, "dim must be"),
        ({"dim": 3.0}, TypeError, "dim must be"),
        ({"base": 0.0}, ValueError, "base must be"),
    ],
)
def test_refused_fields(fields: dict, error: type, begins: str) -> None:
    with pytest.raises(error, match=f"^{begins}"):
        SphericalRoPE(**({"dim": 6} | fields))


@pytest.mark.parametrize(("axis", "pair", "rest"), [(1, [0, 2], 1), (0, [1, 2], 0)])
def test_one_coordinate_turns_one_pair_of_each_triple(axis: int, pair: list, rest: int) -> None:
    places, x = np.zeros((7, 2), int), np.random.default_rng(0).standard_normal((7, 12))
    places[:, axis] = np.arange(7)
    rotated = SphericalRoPE(dim=12).rotation(places)(x).reshape(7, 4, 3)
    triples = x.reshape(7, 4, 3)
    assert np.array_equal(rotated[..., rest], triples[..., rest])
    # The frequencies are over all 12 channels, and there are four: RoPE's first four of a head of 12.
    head = np.concatenate([triples[..., pair], np.zeros((7, 2, 2))], 1).reshape(7, 12)
    assert np.allclose(
        RoPE(dim=12, base=100.0).rotation(np.arange(7))(head).reshape(7, 6, 2)[:, :4], rotated[..., pair]
    )
