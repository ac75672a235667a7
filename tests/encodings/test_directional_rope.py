"""Directions of the plane: by hand, as axial RoPE, and refused fields."""

import math

import numpy as np
import pytest

from oracles import directional_rope
from posenc import AxialRoPE, DirectionalRoPE
from posenc.frequencies import Directed, Geometric
from posenc.frequencies.directed import cosine_and_sine


def test_two_directions_are_axial() -> None:
    encoding = DirectionalRoPE(
        direction=(0.0, 0.0, 0.5, 0.5), frequency_index=(0, 1, 0, 1), frequency_dim=4, base=100.0
    )
    axial = AxialRoPE(axis=(0, 0, 1, 1), frequency_index=(0, 1, 0, 1), frequency_dim=4, base=100.0)
    places = np.random.default_rng(0).integers(-(2**50), 2**50, (2, 9, 2))
    for mine, theirs in (
        (encoding.rotation(places).cos, axial.rotation(places).cos),
        (encoding.rotation(places).sin, axial.rotation(places).sin),
    ):
        assert np.array_equal(mine, theirs)


def test_a_slanting_place() -> None:
    """Along the diagonal a step is √2 long; across it nothing turns."""
    rotation = DirectionalRoPE(direction=(0.25,), frequency_index=(0,), frequency_dim=2).rotation(
        [[3, 3], [3, -3], [2**52, -(2**52)]]
    )
    assert rotation.cos[:, 0] == pytest.approx([math.cos(3 * math.sqrt(2)), 1.0, 1.0], abs=1e-15)
    pin = directional_rope.rotated(
        DirectionalRoPE(direction=(0.25,), frequency_index=(0,), frequency_dim=2), [1, 0], (3, 3)
    )
    assert [round(float(value), 6) for value in pin] == [
        round(math.cos(4.242640687), 6),
        round(math.sin(4.242640687), 6),
    ]


@pytest.mark.parametrize("half_revolutions", [-1.0, -0.5, 0.0, 0.1, 0.25, 0.6, 0.75, 1.0])
def test_shares(half_revolutions: float) -> None:
    shares = [float(value) for value in cosine_and_sine(half_revolutions)]
    assert shares == pytest.approx(
        [math.cos(math.pi * half_revolutions), math.sin(math.pi * half_revolutions)], abs=2e-16
    )


@pytest.mark.parametrize(
    ("fields", "error", "begins"),
    [
        ({"direction": (0.0,)}, ValueError, "direction must be 2 numbers of half revolutions"),
        ({"direction": 0.5}, ValueError, "direction must be 2 numbers of half revolutions"),
        ({"direction": (0.0, 1.5)}, ValueError, "direction must be"),
        ({"frequency_index": ()}, TypeError, "frequency_index must be a tuple"),
        ({"frequency_index": (0, 2)}, ValueError, "frequency_index must be"),
        ({"frequency_dim": 3}, ValueError, "frequency_dim must be"),
        ({"base": 0.0}, ValueError, "base must be"),
        ({"pairing": "both"}, ValueError, "pairing must be"),
    ],
)
def test_refused_fields(fields: dict, error: type, begins: str) -> None:
    with pytest.raises(error, match=f"^{begins}"):
        DirectionalRoPE(**({"direction": (0.0, 0.5), "frequency_index": (0, 1), "frequency_dim": 4} | fields))


def test_directed_refuses() -> None:
    assert Directed(Geometric(dim=6), (0.0, 0.25, 0.5), "second").pairs == 3
    with pytest.raises(ValueError, match=r"^coordinate must be"):
        Directed(Geometric(dim=2), (0.0,), "third")
    with pytest.raises(TypeError, match=r"^frequencies must be"):
        Directed(3, (0.0,), "first")
