"""Contextual GRAPE: refused fields, another route to its numbers, and that equal steps are a plain rotation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from posenc import ContextualGRAPE, RoPE

GOOD = {"dim": 4, "heads": 12, "model_dim": 24}


@pytest.mark.parametrize(
    ("fields", "error", "begins"),
    [
        ({"dim": 3}, ValueError, "dim must be"),
        ({"heads": 0}, ValueError, "heads must be"),
        ({"model_dim": 0}, ValueError, "model_dim must be"),
        ({"base": 0.0}, ValueError, "base must be"),
        ({"own_clocks": "yes"}, TypeError, "own_clocks must be"),
        ({"own_frequencies": 1}, TypeError, "own_frequencies must be"),
        ({"initial": 0.0}, ValueError, "initial must be"),
        ({"gate": "relu"}, ValueError, "gate must be"),
        ({"gate_scale": 0.0}, ValueError, "gate_scale must be"),
        ({"dim": 1 << 20, "heads": 1 << 16}, ValueError, "dim must need at most"),
    ],
)
def test_refused_fields(fields: dict, error: type, begins: str) -> None:
    with pytest.raises(error, match=f"^{begins}"):
        ContextualGRAPE(**(GOOD | fields))


#: The gate of the authors' first release, and that since their commit 431bad1.
RELEASES = {
    "73b2231": ({}, torch.nn.functional.softplus),
    "431bad1": ({"gate": "sigmoid", "gate_scale": 16.0}, lambda z: torch.sigmoid(z / 16)),
}


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("commit", RELEASES)
def test_rotated_queries_and_keys_by_an_exclusive_sum(commit: str, own: bool) -> None:
    """The way of the authors' code: a sum of the steps less the own one, and the planes rotated the other way about."""
    fields, gate = RELEASES[commit]
    encoding, rng = ContextualGRAPE(**GOOD, own_clocks=own, own_frequencies=own, **fields), np.random.default_rng(1)
    params = {name: rng.standard_normal(shape) for name, shape in encoding.shapes.items()}
    q, k = (torch.tensor(part) for part in rng.standard_normal((2, 2, 12, 9, 4)))
    x = torch.tensor(rng.standard_normal((2, 9, 24)))
    weight, bias, rates = (torch.tensor(params[name]) for name in ("W", "c", "log_frequencies"))
    omega = gate(x @ weight.T + bias)
    phi = omega.cumsum(1) - omega  # (batch, time, clocks)
    angle = phi.mT[..., None] * rates.exp()[:, None]
    cos, sin, rotated = angle.cos(), angle.sin(), []
    for content in (q, k):
        first, second = content.chunk(2, -1)
        rotated.append(torch.cat([first * cos + second * sin, second * cos - first * sin], -1))
    wanted = (rotated[0] @ rotated[1].mT - q @ k.mT) / 2
    found = encoding.score(q.numpy(), k.numpy(), range(9), range(9), params, hidden=x.numpy())
    assert np.abs(found - wanted.numpy()).max() <= 1e-11  # angles up to 1,000, each rounded some ten times by 2^-53


def test_equal_steps_are_rope() -> None:
    """Where every token makes a step of one, the time that has gone is the number of tokens before."""
    encoding = ContextualGRAPE(**GOOD, initial=1.0)
    params = encoding.init(np.random.default_rng(0))
    params["W"] = 0 * params["W"]
    q, k = np.random.default_rng(2).standard_normal((2, 1, 12, 7, 4))
    rotation = RoPE(dim=4, pairing="halves").rotation(np.arange(7)).inverse()
    wanted = rotation(q, layout="bhtd") @ np.swapaxes(rotation(k, layout="bhtd"), -1, -2) - q @ np.swapaxes(k, -1, -2)
    found = encoding.score(q, k, range(7), range(7), params, hidden=np.ones((1, 7, 24)))
    assert np.allclose(found, wanted / math.sqrt(4), atol=1e-13)


def test_first_parameters_of_both_releases() -> None:
    """Commit 431bad1 keeps the zeros of W, which the first release drew anew, and the c of a softplus of 0.001."""
    first, second = (ContextualGRAPE(**GOOD, **RELEASES[name][0]).init(np.random.default_rng(0)) for name in RELEASES)
    assert first["W"].any()
    assert not second["W"].any()
    assert np.array_equal(first["c"], second["c"])
    assert np.allclose(np.logaddexp(0, second["c"]), 1e-3, rtol=1e-12)
