"""BoundedALiBi: a floor for each head or for all, whatever the signs of what is learned."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from posenc import BoundedALiBi


def test_a_floor_for_all_heads_or_one_for_each() -> None:
    keys, scale = [0, 2, 1000], np.array(-4.0)
    shared = BoundedALiBi(heads=2).matrix([0], keys, {"scale": scale, "bound": np.array([-3.0])})
    assert shared.tolist() == [[[0.0, -0.5, -3.0]], [[0.0, -0.03125, -3.0]]]
    own = BoundedALiBi(heads=2, per_head=True).matrix([0], keys, {"scale": scale, "bound": np.array([0.25, 20.0])})
    assert own.tolist() == [[[0.0, -0.25, -0.25]], [[0.0, -0.03125, -15.625]]]


def test_slopes_of_twelve_heads_are_geometric() -> None:
    found = BoundedALiBi(heads=12).matrix([0], [1], {"scale": np.array(1.0), "bound": np.array([9.0])})[:, 0, 0]
    # A power of two rounds to half a unit, NumPy's is good to one more.
    assert np.abs(found + [2 ** (-8 * h / 12) for h in range(1, 13)]).max() <= 2.0**-52


def test_what_is_learned_starts_where_the_source_starts() -> None:
    params = BoundedALiBi(heads=3, per_head=True, initial_bound=2.5).init(np.random.default_rng(0))
    assert {name: value.tolist() for name, value in params.items()} == {"scale": 1.0, "bound": [2.5] * 3}


def test_the_gradient_goes_to_the_scale_above_the_floor_and_to_the_bound_at_it() -> None:
    params = {"scale": torch.tensor(2.0, requires_grad=True), "bound": torch.tensor([1.0], requires_grad=True)}
    near, far = BoundedALiBi(heads=8).matrix(torch.tensor([0]), torch.tensor([0, 9]), params)[0, 0]
    assert far.item() == -1.0
    assert torch.autograd.grad(far, list(params.values()), retain_graph=True)[1].tolist() == [-1.0]
    assert torch.autograd.grad(near, list(params.values()))[1].tolist() == [0.0]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: BoundedALiBi(heads=0), ValueError, r"^heads must be an integer from 1 to 65536; got 0"),
        (lambda: BoundedALiBi(heads=2, per_head=1), TypeError, r"^per_head must be True or False; got 1"),
        (
            lambda: BoundedALiBi(heads=2, initial_bound=-1.0),
            ValueError,
            r"^initial_bound must be a finite number from 0",
        ),
        (lambda: BoundedALiBi(heads=2).init(0), TypeError, r"^rng must be a numpy.random.Generator; got 0"),
        (lambda: BoundedALiBi(heads=2).matrix([0], [1]), ValueError, r"^params must hold what BoundedALiBi learns"),
        (
            lambda: BoundedALiBi(heads=2).bias(2, 0, 1, {"scale": np.array(1.0), "bound": np.ones(1)}),
            ValueError,
            r"^head must be from 0 to 1; got values from 2 to 2",
        ),
        (
            lambda: BoundedALiBi(heads=2, per_head=True).matrix(
                [0], [1], {"scale": np.array(1.0), "bound": np.ones(1)}
            ),
            ValueError,
            r"^params\['bound'\] must have shape \(2,\)",
        ),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
