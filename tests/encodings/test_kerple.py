"""KERPLE: bounds of what is learned, and slopes at distance 0."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from posenc import ALiBi, KerpleLog, KerplePower

KINDS = [KerpleLog, KerplePower]


def test_a_power_of_one_is_alibi_with_its_slopes() -> None:
    alibi = ALiBi(heads=12)
    found = KerplePower(heads=12).matrix(range(50, 60), range(60), {"r1": alibi.slopes(), "r2": np.ones(12)})
    # heads 8 to 12 have slopes of less than 2^-6.6 = 0.01, which the floor raises.
    low = alibi.slopes() < 0.01
    assert low.any()
    assert np.array_equal(found[~low], alibi.matrix(range(50, 60), range(60))[~low])
    assert not np.array_equal(found[low], alibi.matrix(range(50, 60), range(60))[low])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_lies_within_the_bounds(kind: Any) -> None:
    params = kind(heads=4096).init(np.random.default_rng(0))
    ends = {"r1": 2.0, "r2": 1.0} if kind is KerpleLog else {"r1": 1.0, "r2": 2.0}
    for name, end in ends.items():
        assert params[name].min() == 0.01
        # Of 4096 uniform draws the largest is below 0.995 of the end with chance 1e-9.
        assert 0.995 * end <= params[name].max() <= end


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_act_and_stop_the_gradient(kind: Any) -> None:
    params = {"r1": torch.tensor([-3.0, 1.0]), "r2": torch.tensor([0.5, 9.0])}
    held = {"r1": torch.tensor([0.01, 1.0]), "r2": torch.tensor([0.5, 2.0 if kind is KerplePower else 9.0])}
    params = {name: value.requires_grad_() for name, value in params.items()}
    found = kind(heads=2).matrix(torch.tensor([0]), torch.tensor([3]), params)
    assert torch.equal(found, kind(heads=2).matrix(torch.tensor([0]), torch.tensor([3]), held))
    found.sum().backward()
    assert (params["r1"].grad == 0).tolist() == [True, False]
    assert (params["r2"].grad == 0).tolist() == [False, kind is KerplePower]


@pytest.mark.parametrize("kind", KINDS)
def test_distance_nought_has_plus_nought_and_finite_gradients(kind: Any) -> None:
    encoding = kind(heads=1)
    params = {"r1": torch.tensor([1.0], requires_grad=True), "r2": torch.tensor([0.5], requires_grad=True)}
    query = torch.tensor([3.5], requires_grad=True)
    found = encoding.matrix(query, torch.tensor([3.5]), params)
    assert found.item() == 0.0
    assert not np.signbit(found.item())
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(found.sum(), [query, *params.values()]))
    slope = jax.grad(lambda at, params: encoding.matrix(at, jnp.asarray([3.5]), params).sum(), argnums=(0, 1))
    grads = slope(jnp.asarray([3.5]), {name: jnp.asarray(value.detach().numpy()) for name, value in params.items()})
    assert all(np.isfinite(np.asarray(grad)).all() for grad in jax.tree.leaves(grads))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: KerpleLog(heads=0), ValueError, r"^heads must be an integer from 1 to 65536; got 0"),
        (lambda: KerplePower(heads=1.5), TypeError, r"^heads must be an integer"),
        (lambda: KerpleLog(heads=1).init(None), TypeError, r"^rng must be a numpy.random.Generator"),
        (lambda: KerplePower(heads=1).init(None), TypeError, r"^rng must be a numpy.random.Generator"),
        (lambda: KerpleLog(heads=1).matrix([0], [1]), ValueError, r"^params must hold what KerpleLog learns"),
        (
            lambda: KerplePower(heads=2).bias(-1, 0, 1, {"r1": np.ones(2), "r2": np.ones(2)}),
            ValueError,
            r"^head must be from 0 to 1; got values from -1 to -1",
        ),
        (
            lambda: KerplePower(heads=2).matrix([0], [1], {"r1": np.ones(2), "r2": np.ones(3)}),
            ValueError,
            r"^params\['r2'\] must have shape \(2,\)",
        ),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
