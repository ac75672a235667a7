"""Time2Vec: the line and the sines, gradients of all four ingredients, and every refusal."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from posenc import Time2Vec

PARAMS = {"omega": np.array([0.5, 2.0, -3.0]), "phi": np.array([1.0, 0.25, 0.0])}


def test_one_line_and_sines() -> None:
    row = Time2Vec(dim=3).embed([[1.5]], PARAMS)[0, 0]
    wanted = [1.75, math.sin(3.25), math.sin(-4.5)]
    assert np.abs(row - wanted).max() <= 2.0**-52


def test_the_angle_is_formed_wider_than_its_parameters() -> None:
    """At 2^24 + 1 a float32 angle of frequency 1 would be that of 2^24."""
    params = {"omega": torch.ones(2), "phi": torch.zeros(2)}
    row = Time2Vec(dim=2).embed(torch.tensor([2**24 + 1]), params)
    assert abs(row[0, 1].item() - math.sin(2**24 + 1)) <= 2.0**-24


def test_gradients_reach_frequency_phase_and_time() -> None:
    params = {name: torch.tensor(value, requires_grad=True) for name, value in PARAMS.items()}
    time = torch.tensor([1.5], dtype=torch.float64, requires_grad=True)
    Time2Vec(dim=3).embed(time, params, dtype=torch.float64)[0, 1].backward()
    slope = math.cos(3.25)
    for found, wanted in (
        (params["omega"].grad, [0.0, 1.5 * slope, 0.0]), (params["phi"].grad, [0.0, slope, 0.0]),
            (time.grad, [2 * slope])
    ):  # fmt: skip
        assert found is not None
        assert np.abs(found.numpy() - wanted).max() <= 8 * 2.0**-53


def test_fresh_parameters_have_the_deviation_asked_for() -> None:
    drawn = Time2Vec(dim=10_000, std=0.5).init(np.random.default_rng(0))
    assert {name: value.shape for name, value in drawn.items()} == {"omega": (10_000,), "phi": (10_000,)}
    # The deviation of a sample of 10,000 is off by 0.5/√20000; five of these.
    assert all(abs(value.std() - 0.5) <= 0.018 for value in drawn.values())


def test_a_bad_position_is_nan_where_it_cannot_be_seen() -> None:
    params = {name: jnp.asarray(value, jnp.float32) for name, value in PARAMS.items()}
    found = np.asarray(jax.jit(Time2Vec(dim=3).embed)(jnp.asarray([1.0, jnp.nan, jnp.inf]), params))
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1:]).all()


REFUSED = [
    (lambda: Time2Vec(dim=1), ValueError, r"^dim must be an integer from 2"),
    (lambda: Time2Vec(dim="3"), TypeError, r"^dim must be an integer"),
    (lambda: Time2Vec(dim=3, std=-1.0), ValueError, r"^std must be a finite number from 0"),
    (lambda: Time2Vec(dim=3).init(0), TypeError, r"^rng must be a numpy.random.Generator"),
    (lambda: Time2Vec(dim=3).embed([0]), ValueError, r"^params must hold what Time2Vec learns, \['omega', 'phi'\]"),
    (lambda: Time2Vec(dim=4).embed([0], PARAMS), ValueError, r"^params\['omega'\] must have shape \(4,\)"),
    (lambda: Time2Vec(dim=3).embed(torch.tensor([0]), PARAMS), TypeError, r"^arrays must come from one library"),
    (lambda: Time2Vec(dim=3).embed([math.nan], PARAMS), ValueError, r"^positions must be finite"),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED)
def test_refusals_name_the_argument(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
