"""Rotations with an axis for each group of heads: refused fields, and that a group is RoPE by its own coordinate."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import posenc.jax
import posenc.torch
from posenc import Backward, HeadwiseRoPE, Partial, RoPE, RoPEPlusPlus, ValueRotation, XPos
from posenc.attention import attention
from posenc.core.doors import RotaryEncoding
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


INNER = HeadwiseRoPE(dim=6, heads=4, shares=(1, 2))


@pytest.mark.parametrize("encoding", [Partial(INNER, dim=8, start=1), Backward(INNER), ValueRotation(INNER)])
def test_a_wrapped_rotation_of_each_head_repeats_grouped_heads_first(encoding: RotaryEncoding) -> None:
    rng, places = np.random.default_rng(0), grid(2, 3)
    q, k, v = (rng.standard_normal((1, heads, 6, encoding.head_dim)).astype(np.float32) for heads in (4, 2, 2))

    def attended(attend: Callable[..., Any], like: Callable[..., Any], *vectors: np.ndarray) -> Any:
        at, options = like(places), {"layout": "bhtd", "encodings": [encoding]}
        found = attend(*map(like, vectors), query_positions=at, key_positions=at, **options)
        return found.output if attend is attention else found

    expected = attended(attention, np.asarray, q, np.repeat(k, 2, 1), np.repeat(v, 2, 1))
    for attend, like in (
        (attention, np.asarray),
        (posenc.jax.attention, jnp.asarray),
        (posenc.torch.attention, torch.from_numpy),
    ):
        assert np.allclose(attended(attend, like, q, k, v), expected, rtol=1e-5, atol=1e-5)
        with pytest.raises(ValueError, match=r"^(encodings must have as many heads as q, 8|x must have 4 heads)"):
            attended(attend, like, *(np.zeros((1, 8, 6, encoding.head_dim), np.float32) for _ in "qkv"))


def test_a_wrapper_has_heads_where_its_encoding_has_them_and_tells_roles_apart_as_it_does() -> None:
    assert Partial(Backward(INNER), dim=8).heads == 4
    assert not hasattr(Partial(RoPE(dim=4), dim=8), "heads")
    assert Partial(XPos(dim=4), dim=8).roles_differ == XPos.roles_differ
    for encoding in (RoPEPlusPlus(dim=4, heads=2), Backward(RoPEPlusPlus(dim=4, heads=2))):
        with pytest.raises(ValueError, match=r"^encoding must rotate queries and keys alike and keep lengths"):
            ValueRotation(encoding)
