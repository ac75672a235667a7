"""Selective RoPE: refused fields, another route to its numbers, and that rotating queries and keys is what it adds."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from posenc import SelectiveRoPE
from posenc.attention import attention

GOOD = {"dim": 4, "heads": 12, "model_dim": 24, "rank": 3}


@pytest.mark.parametrize(
    ("fields", "error", "begins"),
    [
        ({"dim": 3}, ValueError, "dim must be"),
        ({"heads": 0}, ValueError, "heads must be"),
        ({"model_dim": 25}, ValueError, "model_dim must be a multiple of heads=12; got 25"),
        ({"rank": 0}, ValueError, "rank must be"),
        ({"taps": 65}, ValueError, "taps must be"),
        ({"base": 0.0}, ValueError, "base must be"),
        ({"gated": "yes"}, TypeError, "gated must be"),
        ({"epsilon": -1.0}, ValueError, "epsilon must be"),
        ({"dim": 1 << 20, "heads": 1 << 10, "model_dim": 1 << 10}, ValueError, "dim must need at most"),
    ],
)
def test_refused_fields(fields: dict, error: type, begins: str) -> None:
    with pytest.raises(error, match=f"^{begins}"):
        SelectiveRoPE(**(GOOD | fields))


@pytest.mark.parametrize("gated", [False, True])
def test_rotated_queries_and_keys_by_a_cumulative_sum(gated: bool) -> None:
    """The way of the authors' code: a causal convolution, a cumulative sum, one rotation for queries and keys."""
    encoding, rng = SelectiveRoPE(**GOOD, gated=gated), np.random.default_rng(1)
    params = {name: rng.standard_normal(shape) for name, shape in encoding.shapes.items()}
    q, k = rng.standard_normal((2, 2, 12, 9, 4))
    x = rng.standard_normal((2, 9, 24))
    own = {name: torch.tensor(value) for name, value in params.items()}
    parts = torch.tensor(x).unflatten(-1, (12, 2))
    parts = (parts / (parts.square().sum(-1, keepdim=True) + encoding.epsilon).sqrt()).flatten(-2)
    phi = (parts @ own["w_in"].T @ own["w_out"].flatten(0, 1).T).mT  # (batch, heads · pairs, time)
    taps = own["filter"].flatten(0, 1)[:, None]
    phi = torch.nn.functional.conv1d(torch.nn.functional.pad(phi, (3, 0)), taps, groups=24).unflatten(1, (12, 2))
    if gated:
        phi = phi * torch.sigmoid(parts @ own["gate_weight"].T + own["gate_bias"]).mT[:, :, None]
    rates = 500_000.0 ** -(torch.arange(0, 4, 2, dtype=torch.float64) / 4)
    angle = (phi.cumsum(-1) * rates[:, None]).mT
    rotated = []
    for content in (torch.tensor(q), torch.tensor(k)):
        first, second = content.chunk(2, -1)
        rotated.append(
            torch.cat([first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()], -1)
        )
    wanted = (rotated[0] @ rotated[1].mT - torch.tensor(q) @ torch.tensor(k).mT) / 2
    found = encoding.score(q, k, range(9), range(9), params, hidden=x)
    assert np.abs(found - wanted.numpy()).max() <= 1e-11  # angles up to 1,000, each rounded some ten times by 2^-53
    whole = attention(
        q,
        k,
        k,
        query_positions=range(9),
        key_positions=range(9),
        layout="bhtd",
        encodings=[encoding],
        params=[params],
        hidden=x,
        causal=True,
    )
    logits = (rotated[0] @ rotated[1].mT / 2).numpy()
    assert np.abs(whole.logits - logits).max() <= 1e-11
