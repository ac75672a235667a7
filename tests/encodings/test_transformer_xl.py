"""Transformer-XL's terms b, c and d, against the sum written out with r of every pair of positions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from posenc import TransformerXL

RNG = np.random.default_rng(1)
RECORD = TransformerXL(dim=5, heads=12, model_dim=6, base=50.0)
PARAMS = {name: RNG.standard_normal(shape) for name, shape in RECORD.shapes.items()}
QUERY, KEY = np.array([6, 1, 40]), np.array([0, 1, 2, 7, 39])
Q, K = RNG.standard_normal((2, 12, 3, 5)), RNG.standard_normal((2, 12, 5, 5))
#: 66 products of normal numbers, partial sums below 256, in two routes; each wave is good to 2 ulp.
BUDGET = 2 * (66 + 4) * 256 * 2.0**-53


def sinusoid(distance: float) -> np.ndarray:
    """sin‖cos of width 6 with base 50."""
    angles = [distance * 50.0 ** (-2 * i / 6) for i in range(3)]
    return np.array([*map(math.sin, angles), *map(math.cos, angles)])


def written_out(q: np.ndarray, k: np.ndarray, query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray:
    r = np.array([[sinusoid(m - n) for n in key_positions] for m in query_positions])
    position = np.einsum("ijw,hwd->hijd", r, PARAMS["W_R"])
    b = np.einsum("bhid,hijd->bhij", q, position)
    c = np.einsum("hd,bhjd->bhj", PARAMS["u"], k)[:, :, None, :]
    d = np.einsum("hd,hijd->hij", PARAMS["v"], position)
    return (b + c + d) / math.sqrt(5)


def test_score_is_the_sum_of_the_three_terms() -> None:
    found = RECORD.score(Q, K, QUERY, KEY, PARAMS)
    assert found.shape == (2, 12, 3, 5)
    assert np.abs(found - written_out(Q, K, QUERY, KEY)).max() <= BUDGET


def test_three_fast_routes_are_the_gather() -> None:
    """Vectors of 2T - 1 distances, taken for each pair by index, by the relative shift of appendix B, and by this
    encoding, which makes none: keys on both sides of the query, as in XLNet."""
    length = 9
    places, q = np.arange(length), RNG.standard_normal((2, 12, length, 5))
    k = RNG.standard_normal((2, 12, length, 5))
    u, v, w = (PARAMS[name] for name in ("u", "v", "W_R"))
    r = np.einsum("jw,hwd->hjd", np.array([sinusoid(d) for d in range(length - 1, -length, -1)]), w)
    asked = (q + v[:, None]) @ r.swapaxes(-1, -2)  # column c: distance length - 1 - c
    gathered = np.take_along_axis(
        asked, np.broadcast_to(length - 1 - places[:, None] + places, (2, 12, length, length)), -1
    )
    # The shift: a zero column in front, read on as rows that are one number shorter.
    padded = np.concatenate([np.zeros((2, 12, length, 1)), asked], -1).reshape(2, 12, 2 * length, length)
    shifted = padded[:, :, 1:].reshape(2, 12, length, 2 * length - 1)[..., :length]
    assert np.array_equal(shifted, gathered)
    wanted = (gathered + u[:, None] @ k.swapaxes(-1, -2)) / math.sqrt(5)
    assert np.abs(RECORD.score(q, k, places, places, PARAMS) - wanted).max() <= BUDGET


def test_fractions_and_negative_positions() -> None:
    query_positions, key_positions = QUERY - 7.25, KEY * 0.5
    assert (
        np.abs(
            RECORD.score(Q, K, query_positions, key_positions, PARAMS)
            - written_out(Q, K, query_positions, key_positions)
        ).max()
        <= BUDGET
    )


def test_only_the_distance_counts_however_far() -> None:
    near = RECORD.score(Q, K, QUERY, KEY, PARAMS)
    far = RECORD.score(Q, K, QUERY + 2**52, KEY + 2**52, PARAMS)
    assert np.abs(near - far).max() <= BUDGET
    mirrored = RECORD.score(Q, K, -QUERY, -KEY, PARAMS)
    assert np.abs(near - mirrored).max() > 0.1  # the sine tells before from after


def test_each_parameter_has_its_term() -> None:
    none = {name: np.zeros_like(value) for name, value in PARAMS.items()}
    assert np.array_equal(RECORD.score(Q, K, QUERY, KEY, none), np.zeros((2, 12, 3, 5)))
    only_u = RECORD.score(Q, K, QUERY, KEY, none | {"u": PARAMS["u"]})
    assert np.array_equal(only_u[:, :, 0], only_u[:, :, 2])
    only_v = RECORD.score(Q, K, QUERY, KEY, none | {"v": PARAMS["v"]})
    assert np.array_equal(only_v, np.zeros((2, 12, 3, 5)))  # v meets position through W_R alone
    assert np.array_equal(
        RECORD.score(0 * Q, 0 * K, QUERY, KEY, PARAMS)[0], RECORD.score(0 * Q, 0 * K, QUERY, KEY, PARAMS)[1]
    )


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_the_libraries_agree(library: str) -> None:
    make = torch.tensor if library == "torch" else jnp.asarray
    params = {name: make(value.astype(np.float32)) for name, value in PARAMS.items()}
    q, k = (make(x.astype(np.float32)) for x in (Q, K))
    found = np.asarray(RECORD.score(q, k, make(QUERY), make(KEY), params))
    assert np.abs(found - RECORD.score(Q, K, QUERY, KEY, PARAMS)).max() <= 74 * 256 * 2.0**-24


def test_positions_of_each_row_of_a_batch() -> None:
    found = RECORD.score(Q, K, np.stack([QUERY, QUERY + 3]), KEY[None], PARAMS)
    assert np.abs(found[0] - RECORD.score(Q, K, QUERY, KEY, PARAMS)[0]).max() <= BUDGET
    assert np.abs(found[1] - RECORD.score(Q, K, QUERY + 3, KEY, PARAMS)[1]).max() <= BUDGET


def test_gradients() -> None:
    params = {name: torch.tensor(value, requires_grad=True) for name, value in PARAMS.items()}
    q, k = (torch.tensor(x[:1], requires_grad=True) for x in (Q, K))
    query = torch.tensor(QUERY * 1.0, requires_grad=True)

    def score(
        q: torch.Tensor, k: torch.Tensor, query: torch.Tensor, w: torch.Tensor, u: torch.Tensor, v: torch.Tensor
    ) -> torch.Tensor:
        return RECORD.score(q, k, query, torch.tensor(KEY), {"W_R": w, "u": u, "v": v})[:, ::11, :, ::4]

    assert torch.autograd.gradcheck(score, (q, k, query, params["W_R"], params["u"], params["v"]), fast_mode=True)


def test_a_position_out_of_range_is_nan_where_it_cannot_be_seen() -> None:
    params = {name: jnp.asarray(value, jnp.float32) for name, value in PARAMS.items()}
    q, k = jnp.asarray(Q, jnp.float32), jnp.asarray(K, jnp.float32)
    found = jax.jit(RECORD.score)(q, k, jnp.asarray([0.0, 1.0, jnp.nan]), jnp.asarray(KEY), params)
    assert np.isnan(np.asarray(found)).any((0, 1, 3)).tolist() == [False, False, True]


def test_init_has_the_deviation_of_the_source() -> None:
    drawn = TransformerXL(dim=32, heads=8, model_dim=256).init(np.random.default_rng(0))
    assert {name: value.shape for name, value in drawn.items()} == {"W_R": (8, 256, 32), "u": (8, 32), "v": (8, 32)}
    # 65,536 draws: the sample's deviation is off by 0.02/√131072 = 5.5e-5; five of these.
    assert abs(drawn["W_R"].std() - 0.02) < 2.8e-4


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: TransformerXL(dim=0, heads=1, model_dim=2), ValueError, r"^dim must be an integer from 1"),
        (lambda: TransformerXL(dim=2, heads=0, model_dim=2), ValueError, r"^heads must be an integer from 1"),
        (lambda: TransformerXL(dim=2, heads=1, model_dim=3), ValueError, r"^model_dim must be an even integer from 2"),
        (
            lambda: TransformerXL(dim=2, heads=1, model_dim=2, base=0.0),
            ValueError,
            r"^base must be a finite number above 0",
        ),
        (
            lambda: TransformerXL(dim=1 << 20, heads=1 << 10, model_dim=1 << 20),
            ValueError,
            r"^model_dim must need at most 8589934592 bytes",
        ),
        (lambda: RECORD.init("seed"), TypeError, r"^rng must be a numpy.random.Generator; got 'seed'"),
        (lambda: RECORD.score(Q, K, QUERY, KEY), ValueError, r"^params must hold what TransformerXL learns"),
        (
            lambda: RECORD.score(Q[:, :4], K, QUERY, KEY, PARAMS),
            ValueError,
            r"^q must have 12 heads; got shape \(2, 4, 3, 5\)\. Repeat grouped heads first",
        ),
        (lambda: RECORD.score(Q, K[:, :4], QUERY, KEY, PARAMS), ValueError, r"^k must have 12 heads"),
        (lambda: RECORD.score(Q[..., :2], K, QUERY, KEY, PARAMS), ValueError, r"^q must have shape"),
        (lambda: RECORD.score(Q.astype(int), K, QUERY, KEY, PARAMS), TypeError, r"^q must hold floats; got int64"),
        (
            lambda: RECORD.score(Q, K, QUERY[:1], KEY, PARAMS),
            ValueError,
            r"^query_positions must hold a position for each of 3",
        ),
        (
            lambda: RECORD.score(Q, K, QUERY, [1.0] * 4, PARAMS),
            ValueError,
            r"^key_positions must hold a position for each of 5",
        ),
        (lambda: RECORD.score(Q, K, [math.inf, 0, 0], KEY, PARAMS), ValueError, r"^query_positions must be finite"),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
