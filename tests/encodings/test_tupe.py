"""TUPE: the released forward pass written out with PyTorch's layers, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from posenc import TUPE, T5Bias

GOOD = {"heads": 12, "dim": 4, "length": 40}


def released(params: dict[str, torch.Tensor], heads: int, relative: bool) -> torch.Tensor:
    """guolinke/TUPE, `TransformerSentenceEncoder.forward`: all positions at once, then the class token's row and
    column."""
    norm = torch.nn.functional.layer_norm(
        params["positions"], params["norm_weight"].shape, params["norm_weight"], params["norm_bias"], 1e-5
    )
    query_positions, key_positions = (
        torch.nn.functional.linear(norm, params[f"{side}_weight"], params[f"{side}_bias"])
        .reshape(len(norm), heads, -1)
        .transpose(0, 1)
        for side in ("query", "key")
    )
    product = query_positions @ key_positions.mT / math.sqrt(2 * query_positions.shape[-1])
    bias = product[:, 1:, 1:].clone()
    bias[:, :, 0] = product[:, 1, 1][:, None]
    bias[:, 0, :] = product[:, 0, 0][:, None]
    if relative:
        place = np.arange(len(norm) - 1)
        bucket = torch.tensor(np.asarray(T5Bias(heads=heads).bucket(place - place[:, None])))
        bucket[:, 0], bucket[0, :] = 32, 16
        bias += params["table"][bucket].permute(2, 0, 1)
    return bias


@pytest.mark.parametrize("relative", [True, False])
def test_the_released_forward_pass(relative: bool) -> None:
    encoding, rng = TUPE(**GOOD, relative=relative), np.random.default_rng(0)
    params = {name: torch.tensor(rng.standard_normal(shape)) for name, shape in encoding.shapes.items()}
    found = encoding.matrix(torch.arange(40), torch.arange(40), params, dtype=torch.float64)
    expected = released(params, 12, relative)
    assert found.shape == (12, 40, 40)
    # Sums of 48 and 4 products of numbers of some ten: each route rounds a hundred times, by 2^-53 of a thousand.
    assert (found - expected).abs().max() <= 2 * 100 * 1000 * 2.0**-53


def test_the_class_token_is_untied() -> None:
    encoding = TUPE(**GOOD)
    bias = encoding.matrix(range(9), range(9), encoding.init(np.random.default_rng(1)))
    assert (bias[:, 0] == bias[:, 0, :1]).all()
    assert (bias[:, 1:, 0] == bias[:, 1:2, 0]).all()
    assert not (bias[:, 0, 0] == bias[:, 1, 0]).any()


def fresh() -> dict[str, np.ndarray]:
    return TUPE(**GOOD).init(np.random.default_rng(0))


REFUSED = [
    (lambda: TUPE(**GOOD | {"length": 1}), ValueError, "length must be an integer from 2"),
    (lambda: TUPE(**GOOD | {"dim": 0}), ValueError, "dim must be an integer from 1"),
    (lambda: TUPE(**GOOD, buckets=7), ValueError, "buckets must be an even integer"),
    (lambda: TUPE(**GOOD, max_distance=3), ValueError, "max_distance must be above"),
    (lambda: TUPE(**GOOD, epsilon=-1.0), ValueError, "epsilon must be"),
    (lambda: TUPE(**GOOD, relative=False, buckets=8), ValueError, "buckets and max_distance must be left out"),
    (lambda: TUPE(**GOOD).matrix([40], [0], fresh()), ValueError, "query_positions must hold positions from 0 to 39"),
    (lambda: TUPE(**GOOD).matrix([0], [-1], fresh()), ValueError, "key_positions must hold positions from 0 to 39"),
    (lambda: TUPE(**GOOD).matrix([0.5], [0], fresh()), ValueError, "query_positions must hold whole numbers"),
]


@pytest.mark.parametrize(("call", "error", "begins"), REFUSED)
def test_refused(call, error: type, begins: str) -> None:
    with pytest.raises(error, match=f"^{begins}"):
        call()
