"""Shaw's relative representations: scores from keys, and the term of the values."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from posenc import Shaw
from posenc.attention import attention

RNG = np.random.default_rng(0)
RECORD = Shaw(dim=5, clip=3)
PARAMS = {name: RNG.standard_normal(shape) for name, shape in RECORD.shapes.items()}
QUERY, KEY = np.array([4, 0, 9]), np.array([0, 3, 4, 5, 8, 40, 2])
Q, K = RNG.standard_normal((2, 12, 3, 5)), RNG.standard_normal((2, 12, 7, 5))
#: Two routes of a sum of at most 7 products of normal numbers, each partial sum below 64.
BUDGET = 2 * 9 * 64 * 2.0**-53


def vector(name: str, query_positions: int, key_positions: int) -> np.ndarray:
    return PARAMS[name][min(max(key_positions - query_positions, -3), 3) + 3]


def test_score_is_eq_4_with_the_scale_of_attention() -> None:
    found = RECORD.score(Q, K, QUERY, KEY, PARAMS)
    assert found.shape == (2, 12, 3, 7)
    for i, m in enumerate(QUERY):
        for j, n in enumerate(KEY):
            expected = Q[:, :, i] @ vector("relative_keys", m, n) / math.sqrt(5)
            assert np.abs(found[:, :, i, j] - expected).max() <= BUDGET


def test_values_are_eq_3() -> None:
    weights = RNG.random((2, 12, 3, 7))
    found = RECORD.values(weights, QUERY, KEY, PARAMS)
    assert found.shape == (2, 12, 3, 5)
    for i, m in enumerate(QUERY):
        expected = sum(weights[:, :, i, j, None] * vector("relative_values", m, n) for j, n in enumerate(KEY))
        assert np.abs(found[:, :, i] - expected).max() <= BUDGET


def test_a_whole_layer_written_out() -> None:
    v = RNG.standard_normal((2, 12, 7, 5))
    found = attention(
        Q, K, v, query_positions=QUERY, key_positions=KEY, layout="bhtd", encodings=[RECORD], params=[PARAMS]
    )
    keys = np.array([[vector("relative_keys", m, n) for n in KEY] for m in QUERY])
    values = np.array([[vector("relative_values", m, n) for n in KEY] for m in QUERY])
    logits = np.einsum("bhid,bhijd->bhij", Q, K[:, :, None] + keys) / math.sqrt(5)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    expected = np.einsum("bhij,bhijd->bhid", weights, v[:, :, None] + values)
    assert np.abs(found.output - expected).max() <= 8 * BUDGET


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_the_libraries_agree(library: str) -> None:
    make = torch.tensor if library == "torch" else jnp.asarray
    params = {name: make(value.astype(np.float32)) for name, value in PARAMS.items()}
    q, k = make(Q.astype(np.float32)), make(K.astype(np.float32))
    score = RECORD.score(q, k, make(QUERY), make(KEY), params)
    assert np.abs(np.asarray(score) - RECORD.score(Q, K, QUERY, KEY, PARAMS)).max() <= 9 * 64 * 2.0**-24
    values = RECORD.values(score, make(QUERY), make(KEY), params)
    exact = RECORD.values(np.asarray(score, np.float64), QUERY, KEY, PARAMS)
    assert np.abs(np.asarray(values) - exact).max() <= 9 * 64 * 2.0**-24


def test_positions_of_each_row_of_a_batch() -> None:
    query_positions, key_positions = np.stack([QUERY, QUERY + 1]), np.stack([KEY, KEY])
    found = RECORD.score(Q, K, query_positions, key_positions, PARAMS)
    assert np.array_equal(found[0], RECORD.score(Q, K, QUERY, KEY, PARAMS)[0])
    assert np.array_equal(found[1], RECORD.score(Q, K, QUERY + 1, KEY, PARAMS)[1])


def test_without_a_batch_and_with_nothing() -> None:
    assert np.array_equal(RECORD.score(Q[0], K[0], QUERY, KEY, PARAMS), RECORD.score(Q, K, QUERY, KEY, PARAMS)[0])
    assert RECORD.score(Q[:, :, :0], K, QUERY[:0], KEY, PARAMS).shape == (2, 12, 0, 7)
    assert RECORD.score(Q, K[:, :, :0], QUERY, KEY[:0], PARAMS).shape == (2, 12, 3, 0)
    none = RECORD.values(np.zeros((2, 12, 3, 0)), QUERY, KEY[:0], PARAMS)
    assert np.array_equal(none, np.zeros((2, 12, 3, 5)))
    assert Shaw(dim=5, clip=0).shapes == {"relative_keys": (1, 5), "relative_values": (1, 5)}


def test_16_bit_content_gives_float32_scores() -> None:
    params = {name: torch.tensor(value) for name, value in PARAMS.items()}
    q, k = torch.tensor(Q).bfloat16(), torch.tensor(K).bfloat16()
    found = RECORD.score(q, k, torch.tensor(QUERY), torch.tensor(KEY), params)
    wide = RECORD.score(q.float(), k.float(), torch.tensor(QUERY), torch.tensor(KEY), params)
    assert found.dtype == torch.float32
    assert torch.equal(found, wide)


def test_gradients_reach_content_and_vectors() -> None:
    keys = torch.tensor(PARAMS["relative_keys"], requires_grad=True)
    values = torch.tensor(PARAMS["relative_values"], requires_grad=True)
    q = torch.tensor(Q[:1, :1], requires_grad=True)
    weights = torch.rand(1, 1, 3, 7, dtype=torch.float64, requires_grad=True)
    k, query_positions, key_positions = torch.tensor(K[:1, :1]), torch.tensor(QUERY), torch.tensor(KEY)

    def both(
        q: torch.Tensor, weights: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        params = {"relative_keys": keys, "relative_values": values}
        return RECORD.score(q, k, query_positions, key_positions, params), RECORD.values(
            weights, query_positions, key_positions, params
        )

    assert torch.autograd.gradcheck(both, (q, weights, keys, values))


def test_a_fraction_is_nan_where_it_cannot_be_seen() -> None:
    params = {name: jnp.asarray(value, jnp.float32) for name, value in PARAMS.items()}
    q, k = jnp.asarray(Q, jnp.float32), jnp.asarray(K, jnp.float32)
    key = jnp.asarray([0.0, 3, 4, 5.5, 8, 40, 2])
    score = np.asarray(jax.jit(RECORD.score)(q, k, jnp.asarray(QUERY), key, params))
    assert np.isnan(score[..., 3]).all()
    assert np.isfinite(np.delete(score, 3, -1)).all()
    out = jax.jit(RECORD.values)(jnp.ones((2, 12, 3, 7)), jnp.asarray(QUERY), key, params)
    assert np.isnan(np.asarray(out)).all()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Shaw(dim=0), ValueError, r"^dim must be an integer from 1"),
        (lambda: Shaw(dim=4, clip=-1), ValueError, r"^clip must be an integer from 0 to 1048576; got -1"),
        (lambda: Shaw(dim=1 << 20, clip=1 << 20), ValueError, r"^clip must need at most 8589934592 bytes"),
        (lambda: RECORD.init(3), TypeError, r"^rng must be a numpy.random.Generator; got 3"),
        (lambda: RECORD.score(Q, K, QUERY, KEY), ValueError, r"^params must hold what Shaw learns"),
        (
            lambda: RECORD.score(Q[..., :4], K, QUERY, KEY, PARAMS),
            ValueError,
            r"^q must have shape \(\*batch, heads, n, 5\); got \(2, 12, 3, 4\)",
        ),
        (lambda: RECORD.score(Q, K[..., :4], QUERY, KEY, PARAMS), ValueError, r"^k must have shape"),
        (lambda: RECORD.score(Q[0, 0], K, QUERY, KEY, PARAMS), ValueError, r"^q must have shape .* got \(3, 5\)"),
        (lambda: RECORD.score(Q > 0, K, QUERY, KEY, PARAMS), TypeError, r"^q must hold floats; got bool"),
        (
            lambda: RECORD.score(Q, K, QUERY[:2], KEY, PARAMS),
            ValueError,
            r"^query_positions must hold a position for each of 3 tokens, shape \(3,\) or \(2, 3\); got \(2,\)",
        ),
        (
            lambda: RECORD.score(Q, K, QUERY, KEY[:, None], PARAMS),
            ValueError,
            r"^key_positions must hold a position for each of 7",
        ),
        (
            lambda: RECORD.score(Q, K, np.stack([QUERY] * 3), KEY, PARAMS),
            ValueError,
            r"^query_positions must hold a position .* got \(3, 3\)",
        ),
        (
            lambda: RECORD.score(Q, K, QUERY + 0.5, KEY, PARAMS),
            ValueError,
            r"^query_positions must hold whole numbers.* got 4\.5",
        ),
        (
            lambda: RECORD.values(np.ones((2, 12, 3, 7)), QUERY, KEY + 0.25, PARAMS),
            ValueError,
            r"^key_positions must hold whole numbers.* got 0\.25",
        ),
        (
            lambda: RECORD.values(np.ones((2, 12, 3, 6)), QUERY, KEY, PARAMS),
            ValueError,
            r"^key_positions must hold a position for each of 6 tokens",
        ),
        (
            lambda: RECORD.values(np.ones((3, 7)), QUERY, KEY, PARAMS),
            ValueError,
            r"^weights must have shape \(\*batch, heads, n, 7\)",
        ),
        (
            lambda: RECORD.score(torch.tensor(Q), K, QUERY, KEY, PARAMS),
            TypeError,
            r"^arrays must come from one library",
        ),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
