"""Path-integral GRAPE: refused fields, and another route to its numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from posenc import ALiBi, PathGRAPE


@pytest.mark.parametrize(
    ("fields", "error", "begins"),
    [
        ({"heads": 0}, ValueError, "heads must be"),
        ({"model_dim": 0}, ValueError, "model_dim must be"),
        ({"width": 3}, ValueError, "width must be"),
        ({"epsilon": -1.0}, ValueError, "epsilon must be"),
        ({"heads": 1 << 16, "model_dim": 1 << 20}, ValueError, "model_dim must need at most"),
    ],
)
def test_refused_fields(fields: dict, error: type, begins: str) -> None:
    with pytest.raises(error, match=f"^{begins}"):
        PathGRAPE(**({"heads": 12, "model_dim": 24} | fields))


def test_a_sum_of_the_whole_row_less_what_came_before() -> None:
    """The way of the authors' code: masked gates, their sum and their cumulative sum, in the order of the keys."""
    encoding, rng = PathGRAPE(heads=12, model_dim=24, width=4), np.random.default_rng(1)
    params, x = {"W": rng.standard_normal((12, 4, 24))}, rng.standard_normal((2, 9, 24))
    p = torch.einsum("hwc,btc->bhtw", torch.tensor(params["W"]), torch.tensor(x))
    normed = torch.nn.functional.rms_norm(p, (4,), eps=encoding.epsilon)
    angle = torch.arange(9, dtype=torch.float64)[:, None].expand(9, 2)
    first, second = normed.chunk(2, -1)
    rotated = torch.cat([first * angle.cos() + second * angle.sin(), second * angle.cos() - first * angle.sin()], -1)
    slopes = torch.tensor(ALiBi(heads=12).slopes())[:, None, None]
    gates = torch.nn.functional.logsigmoid(p @ rotated.mT / 4) * slopes
    gates = gates.tril()
    wanted = (gates.sum(-1, keepdim=True) - gates.cumsum(-1)).tril().numpy()
    q = np.zeros((2, 12, 9, 8))
    found = encoding.score(q, q, range(9), range(9), params, hidden=np.concatenate([x, x], 1))
    assert np.abs(found - wanted).max() <= 1e-12  # nine logarithms below 40, each rounded some ten times by 2^-53
