"""FIRE: distances as shares of the context, whatever its length."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from posenc import FIRE


def by_hand(encoding: FIRE, query_positions: int, key_positions: int, params: dict[str, np.ndarray]) -> np.ndarray:
    """Every head's number, a step at a time."""
    c, start = abs(params["c"]), abs(encoding.threshold * params["multiplier"])
    share = np.log(c * abs(query_positions - key_positions) + 1) / (
        np.log(c * max(query_positions, start) + 1) + encoding.epsilon
    )
    return params["weight_out"] @ np.maximum(params["weight_in"] * share + params["bias_in"], 0) + params["bias_out"]


def test_twelve_heads_at_places_on_both_sides_of_the_threshold() -> None:
    encoding = FIRE(heads=12, threshold=20.0)
    params = encoding.init(np.random.default_rng(1)) | {"c": np.array(-0.4), "multiplier": np.array(-1.5)}
    query_positions, key_positions = [5, 29, 31, 4000], [0, 5, 30, 4000, 9000]
    found = encoding.matrix(query_positions, key_positions, params)
    for i, m in enumerate(query_positions):
        for j, n in enumerate(key_positions):
            # Sums of 32 products below 3, in another order.
            assert np.abs(found[:, i, j] - by_hand(encoding, m, n, params)).max() <= 40 * 3 * 2.0**-52


def test_the_first_token_looks_the_same_from_any_query_beyond_the_threshold() -> None:
    encoding = FIRE(heads=2, threshold=10.0, epsilon=0.0)
    found = encoding.matrix([10, 500, 10**9], [0], encoding.init(np.random.default_rng(2)))[..., 0]
    assert np.abs(found - found[:, :1]).max() <= 40 * 2 * 2.0**-52


def test_batched_positions() -> None:
    encoding = FIRE(heads=3)
    params = encoding.init(np.random.default_rng(3))
    found = encoding.matrix(np.array([[600], [9]]), np.array([[0, 3], [9, 12]]), params)
    assert found.shape == (2, 3, 1, 2)
    assert np.abs(found[0, :, 0, 1] - by_hand(encoding, 600, 3, params)).max() <= 40 * 3 * 2.0**-52


def test_init_is_that_of_linear_layers() -> None:
    params = FIRE(heads=500, width=400, initial_c=0.25).init(np.random.default_rng(0))
    assert (params["c"].item(), params["multiplier"].item()) == (0.25, 1.0)
    for name, end in (("weight_in", 1.0), ("bias_in", 1.0), ("weight_out", 0.05), ("bias_out", 0.05)):
        assert 0.95 * end <= np.abs(params[name]).max() <= end


def test_a_mixed_precision_context_changes_no_number() -> None:
    encoding = FIRE(heads=3)
    params = {name: torch.tensor(value).float() for name, value in encoding.init(np.random.default_rng(0)).items()}
    wanted = encoding.matrix(torch.arange(9), torch.arange(9), params)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(encoding.matrix(torch.arange(9), torch.arange(9), params), wanted)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: FIRE(heads=0), ValueError, r"^heads must be an integer from 1 to 65536; got 0"),
        (lambda: FIRE(heads=1, width=0), ValueError, r"^width must be an integer from 1 to 16384; got 0"),
        (lambda: FIRE(heads=1, threshold=0.0), ValueError, r"^threshold must be a finite number above 0"),
        (lambda: FIRE(heads=1, initial_c=-0.1), ValueError, r"^initial_c must be a finite number above 0"),
        (lambda: FIRE(heads=1, epsilon=2.0), ValueError, r"^epsilon must be a finite number from 0 to 1; got 2"),
        (lambda: FIRE(heads=1).init(None), TypeError, r"^rng must be a numpy.random.Generator; got None"),
        (lambda: FIRE(heads=1).matrix([0], [1]), ValueError, r"^params must hold what FIRE learns"),
        (
            lambda: FIRE(heads=1).bias(1, 0, 1, FIRE(heads=1).init(np.random.default_rng(0))),
            ValueError,
            r"^head must be from 0 to 0; got values from 1 to 1",
        ),
        (
            lambda: FIRE(heads=1).matrix([np.inf], [1], FIRE(heads=1).init(np.random.default_rng(0))),
            ValueError,
            r"^query_positions must be finite",
        ),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
