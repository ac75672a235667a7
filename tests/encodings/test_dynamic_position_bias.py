"""A network of the distance: its direction, its depth, and no overflow far out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from posenc import DynamicPositionBias


def by_hand(encoding: DynamicPositionBias, distance: int, params: dict[str, np.ndarray]) -> np.ndarray:
    """Every head's number for query - key, a layer at a time."""
    x = np.array([np.sign(distance) * np.log(abs(distance) + 1) if encoding.log_distance else float(distance)])
    layers = [(params["weight_in"][:, None], params["bias_in"])]
    layers += list(zip(params.get("weight_hidden", ()), params.get("bias_hidden", ()), strict=True))
    for weight, bias in layers:
        x = weight @ x + bias
        x = x / (1 + np.exp(-x))
    return params["weight_out"] @ x + params["bias_out"]


@pytest.mark.parametrize("log_distance", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_twelve_heads(depth: int, log_distance: bool) -> None:
    encoding = DynamicPositionBias(heads=12, dim=7, depth=depth, log_distance=log_distance)
    params = encoding.init(np.random.default_rng(0))
    query_positions, key_positions = [5, 0, 90], [0, 5, 89]
    found = encoding.matrix(query_positions, key_positions, params)
    for i, m in enumerate(query_positions):
        for j, n in enumerate(key_positions):
            # (depth + 1) sums of 8 products, each no larger than the distance, in another order.
            assert np.abs(found[:, i, j] - by_hand(encoding, m - n, params)).max() <= (depth + 1) * 12 * 2.0**-52 * 90


def test_far_out_nothing_overflows() -> None:
    encoding = DynamicPositionBias(heads=2, dim=4)
    params = encoding.init(np.random.default_rng(0))
    assert np.isfinite(encoding.matrix([2**53, -(2**53)], [0], params)).all()
    held = {name: torch.tensor(value, requires_grad=True) for name, value in params.items()}
    encoding.matrix(torch.tensor([2**53, -(2**53)]), torch.tensor([0]), held, dtype=torch.float64).sum().backward()
    assert all(value.grad.isfinite().all() for value in held.values())
    bare = {name: jnp.asarray(value, jnp.float32) for name, value in params.items()}
    slope = jax.grad(lambda given: encoding.matrix(jnp.asarray([2**30]), jnp.asarray([0]), given).sum())(bare)
    assert all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(slope))


def test_init_is_that_of_linear_layers() -> None:
    params = DynamicPositionBias(heads=300, dim=100, depth=3).init(np.random.default_rng(0))
    assert {name: value.shape for name, value in params.items()} == {
        "weight_in": (100,),
        "bias_in": (100,),
        "weight_hidden": (2, 100, 100),
        "bias_hidden": (2, 100),
        "weight_out": (300, 100),
        "bias_out": (300,),
    }
    for name, value in params.items():
        end = 1.0 if name.endswith("_in") else 0.1
        assert 0.9 * end <= np.abs(value).max() <= end


def test_one_hidden_layer_learns_no_others() -> None:
    assert set(DynamicPositionBias(heads=1, depth=1).shapes) == {"weight_in", "bias_in", "weight_out", "bias_out"}


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: DynamicPositionBias(heads=0), ValueError, r"^heads must be an integer from 1 to 65536; got 0"),
        (lambda: DynamicPositionBias(heads=1, dim=0), ValueError, r"^dim must be an integer from 1 to 16384; got 0"),
        (lambda: DynamicPositionBias(heads=1, depth=0), ValueError, r"^depth must be an integer from 1 to 64; got 0"),
        (
            lambda: DynamicPositionBias(heads=1, dim=1 << 14, depth=64),
            ValueError,
            r"^dim must need at most 8589934592",
        ),
        (
            lambda: DynamicPositionBias(heads=1, log_distance=0),
            TypeError,
            r"^log_distance must be True or False; got 0",
        ),
        (lambda: DynamicPositionBias(heads=1).init(None), TypeError, r"^rng must be a numpy.random.Generator"),
        (
            lambda: DynamicPositionBias(heads=1).matrix([0], [1]),
            ValueError,
            r"^params must hold what DynamicPositionBias",
        ),
        (
            lambda: DynamicPositionBias(heads=1).bias(
                1, 0, 1, DynamicPositionBias(heads=1).init(np.random.default_rng(0))
            ),
            ValueError,
            r"^head must be from 0 to 0; got values from 1 to 1",
        ),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
