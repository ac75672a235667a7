"""PaTH, DAPE, gated biases, additive GRAPE and the gate of a row: other routes to the same numbers, and every
message."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from posenc import (
    DAPE,
    FIRE,
    AdditiveGRAPE,
    ALiBi,
    DAPEv2,
    ForgettingGate,
    GatedBias,
    KerpleLog,
    PaTH,
    RoPE,
    RowGate,
    T5Bias,
)
from posenc.positions.ordered_keys import ordered

RNG = np.random.default_rng(0)
QUERY, KEY = np.array([4, 0, 9]), np.array([0, 3, 4, 5, 8, 40, 2])
PLACES = np.arange(7)
Q, K = RNG.standard_normal((2, 12, 3, 5)), RNG.standard_normal((2, 12, 7, 5))
WIDE = RNG.standard_normal((2, 3, 60))
ASKED, SEEN = RNG.standard_normal((2, 3, 6)), RNG.standard_normal((2, 7, 6))
RECORDS = {
    "path": PaTH(dim=5, heads=12, model_dim=6, rank=4),
    "dape": DAPE(ALiBi(heads=12), dim=5, width=4),
    "dape_v2": DAPEv2(KerpleLog(heads=12), dim=5, width=4),
    "gated": GatedBias(T5Bias(heads=12, buckets=8, max_distance=20), dim=5),
    "grape": AdditiveGRAPE(dim=5, heads=12),
    "row": RowGate(heads=12, model_dim=6, width=3),
}
PARAMS = {
    name: {key: RNG.standard_normal(shape) for key, shape in encoding.shapes.items()}
    for name, encoding in RECORDS.items()
}
HIDDEN = {"path": SEEN, "gated": WIDE, "row": np.concatenate([ASKED, SEEN], 1)}
GATHER = ("path", "dape_v2", "row")
#: Two routes of sums of a few dozen terms below 64.
BUDGET = 256 * 64 * 2.0**-52


def score(name: str, **changed: object) -> np.ndarray:
    given = {
        "q": Q,
        "k": K,
        "query_positions": QUERY,
        "key_positions": KEY,
        "params": PARAMS[name],
        "hidden": HIDDEN.get(name),
    } | changed
    return RECORDS[name].score(**given)


def hidden_for(name: str, keys: object, asked: object = slice(None)) -> np.ndarray | None:
    """The inputs with the keys in another order, or fewer of them."""
    if name == "dape_v2":
        return None
    return SEEN[:, keys] if name == "path" else np.concatenate([ASKED[:, asked], SEEN[:, keys]], 1)


@pytest.mark.parametrize("name", GATHER)
def test_keys_count_by_position_wherever_they_stand(name: str) -> None:
    order = np.array([5, 2, 0, 6, 4, 1, 3])
    moved = score(name, k=K[:, :, order], key_positions=KEY[order], hidden=hidden_for(name, order))
    assert np.abs(moved - score(name)[..., order]).max() <= BUDGET


@pytest.mark.parametrize("name", GATHER)
def test_keys_ahead_of_every_query_change_nothing(name: str) -> None:
    """So that a row of a cache is that row of the whole sequence; position 40 is ahead of all."""
    kept = np.array([0, 1, 2, 3, 4, 6])
    fewer = score(name, k=K[:, :, kept], key_positions=KEY[kept], hidden=hidden_for(name, kept))
    assert np.abs(fewer - score(name)[..., kept]).max() <= BUDGET
    assert (score(name)[..., 5] == 0).all()


def test_path_is_the_state_that_a_cache_keeps() -> None:
    """The authors' decoding: when a token arrives, every cached key k becomes k - β (k·w) w; then logits are q·k."""
    encoding, params = RECORDS["path"], PARAMS["path"]
    q = RNG.standard_normal((2, 12, 7, 5))
    found = encoding.score(q, K, PLACES, PLACES, params, hidden=SEEN)
    w, beta = encoding._directions(SEEN, ordered(PLACES), params), encoding._strengths(SEEN, params)
    keys = np.zeros((2, 12, 0, 5))
    for m in range(7):
        own = w[:, :, m : m + 1]
        keys = keys - beta[:, :, m : m + 1] * (keys * own).sum(-1, keepdims=True) * own
        keys = np.concatenate([keys, K[:, :, m : m + 1]], 2)
        logits = (q[:, :, m : m + 1] @ keys.swapaxes(-1, -2))[:, :, 0] / math.sqrt(5)
        plain = (q[:, :, m : m + 1] @ K[:, :, : m + 1].swapaxes(-1, -2))[:, :, 0] / math.sqrt(5)
        assert np.abs(found[:, :, m, : m + 1] + plain - logits).max() <= BUDGET


def test_path_filters_as_a_causal_convolution() -> None:
    encoding, params = RECORDS["path"], {name: torch.tensor(value) for name, value in PARAMS["path"].items()}
    x = torch.tensor(SEEN)
    low = torch.einsum("hdr,bmr->bhdm", params["w_out"], x @ params["w_in"].T).flatten(1, 2)
    weight = params["filter"].flatten(0, 1)[:, None]
    wanted = torch.nn.functional.conv1d(torch.nn.functional.pad(low, (2, 0)), weight, groups=60)
    wanted = torch.nn.functional.silu(wanted).unflatten(1, (12, 5)).transpose(-1, -2)
    wanted = wanted * (wanted.square().sum(-1, keepdim=True) + 1e-6).rsqrt()
    assert (encoding._directions(x, ordered(torch.tensor(PLACES)), params) - wanted).abs().max() <= 2.0**-44


def released(encoding: DAPE | DAPEv2, logits: torch.Tensor, bias: torch.Tensor, params: dict) -> torch.Tensor:
    """What the authors' modules add to logits: a network over the channels, in the second version of convolutions."""
    kernel = getattr(encoding, "kernel", 1)
    x = torch.cat([logits, bias.expand(logits.shape)], 1)
    x = x.tril() if kernel > 1 else x
    given = {name: torch.tensor(value) for name, value in params.items() if "." not in name}
    for layer in ("in", "out"):
        weight = given[f"weight_{layer}"].reshape(*given[f"weight_{layer}"].shape[:2], 1, kernel)
        x = torch.nn.functional.conv2d(x, weight, given[f"bias_{layer}"], padding=(0, kernel // 2))
        x = torch.nn.functional.leaky_relu(x) if layer == "in" else x
    return bias + x


@pytest.mark.parametrize(
    "encoding", [DAPE(FIRE(heads=12, threshold=4.0), dim=5, width=7), DAPEv2(ALiBi(heads=12), dim=5)]
)
def test_dape_is_what_the_released_modules_add(encoding: DAPE | DAPEv2) -> None:
    params = encoding.init(np.random.default_rng(2))
    q = RNG.standard_normal((2, 12, 7, 5))
    own = {name.removeprefix("inner."): value for name, value in params.items() if "." in name}
    bias = torch.tensor(encoding.encoding.matrix(PLACES, PLACES, own or None))
    logits = torch.tensor(q @ K.swapaxes(-1, -2) / math.sqrt(5))
    found = torch.tensor(encoding.score(q, K, PLACES, PLACES, params))
    causal = torch.ones(7, 7).tril().bool()
    different = ((found - released(encoding, logits, bias, params)).abs() > BUDGET) & causal
    # The second version differs where the last query meets the last key: no hidden layer is released behind it.
    assert different[:, :, :6].sum() == 0
    assert different[:, :, 6, :6].sum() == 0
    assert different[:, :, 6, 6].any() == isinstance(encoding, DAPEv2)


def test_cable_is_a_forgetting_gate_with_the_signs_of_its_parameters_changed() -> None:
    """Veisi et al. 2025, arXiv:2503.08067, as in the authors' code: b = cumsum(-softplus(Wx + c)), bias b_m - b_n."""
    w, c = RNG.standard_normal((12, 6)), RNG.standard_normal(12)
    x = torch.tensor(SEEN)
    b = -torch.nn.functional.softplus(x @ torch.tensor(w).T + torch.tensor(c)).cumsum(1).permute(0, 2, 1)
    wanted = (b[..., :, None] - b[..., None, :]).tril()
    q = torch.zeros(2, 12, 7, 5, dtype=torch.float64)
    params = {"W": torch.tensor(-w), "c": torch.tensor(-c)}
    places = torch.tensor(PLACES)
    found = ForgettingGate(heads=12, model_dim=6).score(q, q, places, places, params, hidden=x)
    assert (found - wanted).abs().max() <= BUDGET


def test_grape_as_its_authors_write_it() -> None:
    encoding, params = RECORDS["grape"], {name: torch.tensor(value) for name, value in PARAMS["grape"].items()}
    softplus, normal = torch.nn.functional.softplus, torch.nn.functional.normalize
    q, k = torch.tensor(Q), torch.tensor(K)
    gates = [
        softplus((x * normal(params[name], dim=-1, eps=1e-6)[:, None]).sum(-1) / math.sqrt(5))
        for x, name in ((q, "v"), (k, "u"))
    ]
    omega = softplus(params["omega"]) * torch.tensor(ALiBi(heads=12).slopes())
    distance = torch.tensor(QUERY[:, None] - KEY).clamp_min(0)
    wanted = -distance * omega[:, None, None] * (gates[0][..., None] + gates[1][..., None, :])
    assert np.abs(encoding.score(Q, K, QUERY, KEY, PARAMS["grape"]) - wanted.numpy()).max() <= BUDGET


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: PaTH(dim=0, heads=1, model_dim=1), ValueError, r"^dim must be an integer from 1"),
        (lambda: PaTH(dim=1, heads=0, model_dim=1), ValueError, r"^heads must be an integer from 1"),
        (lambda: PaTH(dim=1, heads=1, model_dim=0), ValueError, r"^model_dim must be an integer from 1"),
        (lambda: PaTH(dim=1, heads=1, model_dim=1, rank=0), ValueError, r"^rank must be an integer from 1"),
        (lambda: PaTH(dim=1, heads=1, model_dim=1, taps=0), ValueError, r"^taps must be an integer from 1 to 64"),
        (lambda: PaTH(dim=1, heads=1, model_dim=1, epsilon=-1.0), ValueError, r"^epsilon must be a finite number"),
        (lambda: PaTH(dim=1 << 20, heads=1 << 10, model_dim=1), ValueError, r"^dim must need at most"),
        (lambda: PaTH(dim=1, heads=1 << 16, model_dim=1 << 20), ValueError, r"^model_dim must need at most"),
        (lambda: score("path", q=Q[:, :3]), ValueError, r"^q must have 12 heads"),
        (
            lambda: score("path", hidden=None),
            ValueError,
            r"^hidden must hold the input of the layer, shape \(2, 7, 6\)",
        ),
        (lambda: DAPE(RoPE(dim=4), dim=4), TypeError, r"^encoding must be an encoding that biases"),
        (lambda: DAPE(ALiBi(heads=2), dim=0), ValueError, r"^dim must be an integer from 1"),
        (lambda: DAPE(ALiBi(heads=2), dim=4, width=0), ValueError, r"^width must be an integer from 1"),
        (lambda: DAPE(ALiBi(heads=1 << 16), dim=4, width=1 << 14), ValueError, r"^width must need at most"),
        (lambda: score("dape", k=K[..., :3]), ValueError, r"^k must have shape"),
        (lambda: score("dape", params=None), ValueError, r"^params must hold what DAPE learns"),
        (lambda: DAPEv2(RoPE(dim=4), dim=4), TypeError, r"^encoding must be an encoding that biases"),
        (lambda: DAPEv2(ALiBi(heads=2), dim=4, kernel=1), ValueError, r"^kernel must be an integer from 3"),
        (lambda: DAPEv2(ALiBi(heads=2), dim=4, kernel=4), ValueError, r"^kernel must be odd; got 4\. Give 5, say"),
        (lambda: DAPEv2(ALiBi(heads=1 << 16), dim=4, width=1 << 14), ValueError, r"^width must need at most"),
        (lambda: GatedBias(RoPE(dim=4), dim=4), TypeError, r"^encoding must be an encoding that biases"),
        (lambda: GatedBias(ALiBi(heads=2), dim=0), ValueError, r"^dim must be an integer from 1"),
        (lambda: score("gated", hidden=SEEN), ValueError, r"^hidden must have shape \(2, 3, 60\)"),
        (lambda: score("gated", query_positions=QUERY + 0.5), ValueError, r"^query_positions must hold whole numbers"),
        (lambda: AdditiveGRAPE(dim=0, heads=1), ValueError, r"^dim must be an integer from 1"),
        (lambda: AdditiveGRAPE(dim=1, heads=1, gates="none"), ValueError, r"^gates must be one of 'both'"),
        (lambda: AdditiveGRAPE(dim=1, heads=1, normalised=1), TypeError, r"^normalised must be True or False"),
        (lambda: AdditiveGRAPE(dim=1 << 20, heads=1 << 16), ValueError, r"^dim must need at most"),
        (lambda: RowGate(heads=0, model_dim=1), ValueError, r"^heads must be an integer from 1"),
        (lambda: RowGate(heads=1, model_dim=0), ValueError, r"^model_dim must be an integer from 1"),
        (lambda: RowGate(heads=1, model_dim=1, width=0), ValueError, r"^width must be an integer from 1"),
        (lambda: RowGate(heads=1 << 16, model_dim=1 << 20), ValueError, r"^model_dim must need at most"),
        (lambda: score("row", hidden=SEEN), ValueError, r"^hidden must have shape \(2, 10, 6\)"),
        (lambda: score("row", q=Q[:, :3]), ValueError, r"^q must have 12 heads"),
        *(
            (lambda name=name: RECORDS[name].init(3), TypeError, r"^rng must be a numpy.random.Generator; got 3")
            for name in RECORDS
        ),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("name", GATHER)
def test_a_position_that_occurs_twice_is_refused(name: str) -> None:
    """Padding that stands at 0, or documents that are packed, would count as keys in between."""
    key = np.array([0, 1, 2, 0, 3, 4, 5])
    with pytest.raises(
        ValueError, match=r"^key_positions must hold each position once, .*; got 0 twice\. .*from_mask.* documents="
    ):
        score(name, key_positions=key)
    numbers = (np.zeros(3, np.int64), np.array([0, 0, 0, 1, 1, 1, 1]))
    assert np.isfinite(score(name, key_positions=key, documents=numbers)).all()
    with pytest.raises(ValueError, match=r"^key_positions must hold each position once, .*; got 0 twice"):
        score(name, key_positions=key, documents=(np.zeros(3, np.int64), np.zeros(7, np.int64)))


def test_a_position_that_cannot_be_read_and_occurs_twice_is_no_number() -> None:
    encoding, key_positions = RECORDS["row"], torch.tensor([[0, 1, 2, 0, 3, 4, 5], [0, 1, 2, 6, 3, 4, 5]])
    params, query_positions = (
        {name: torch.tensor(value) for name, value in PARAMS["row"].items()},
        torch.tensor([9, 8, 7]),
    )
    q, k, x = (torch.tensor(part) for part in (Q, K, HIDDEN["row"]))
    compiled = torch.compile(
        lambda key_positions: encoding.score(q, k, query_positions, key_positions, params, hidden=x), backend="eager"
    )
    assert compiled(key_positions).isnan().any(-1).any(-1).any(-1).tolist() == [True, False]


@pytest.mark.parametrize(
    ("documents", "error", "message"),
    [
        (np.zeros(7, np.int64), TypeError, r"^documents must be a pair, \(of the queries, of the keys\); got array"),
        (
            (np.zeros(3), np.zeros(7, np.int64)),
            TypeError,
            r"^documents must hold whole numbers; got float64 for the queries",
        ),
        (([0, 0, 0], [0] * 6), ValueError, r"^documents must hold a number for each of 7 keys; got shape \(6,\)"),
    ],
)
def test_documents_that_do_not_fit(documents: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        score("path", documents=documents)


def test_reflections_of_more_keys_than_one_block_are_taken_one_after_the_other() -> None:
    """130 keys, two more than a block: k_j after H_(j+1)…H_i, H = 1 - β w wᵀ (Yang et al. 2025, eq. 2), key by key."""
    encoding, count = PaTH(dim=4, heads=2, model_dim=3, rank=2, taps=3), 130
    source = np.random.default_rng(0)
    params = {name: source.normal(size=shape) for name, shape in encoding.shapes.items()}
    x, (q, k) = source.normal(size=(count, 3)), source.normal(size=(2, 2, count, 4))
    got = encoding.score(q, k, np.arange(count), np.arange(count), params, hidden=x)
    for head in range(2):
        low = x @ params["w_in"].T @ params["w_out"][head].T
        before = np.concatenate([np.zeros((2, 4)), low])
        summed = sum(before[tap : tap + count] * params["filter"][head][:, tap] for tap in range(3))
        w = summed / (1 + np.exp(-summed))
        w /= np.sqrt((w * w).sum(-1, keepdims=True) + encoding.epsilon)
        beta = 2 / (1 + np.exp(-(x @ params["beta_weight"][head] + params["beta_bias"][head])))
        left, expected = k[head].copy(), np.zeros((count, count))
        for i in range(count):
            left[:i] -= beta[i] * np.outer(left[:i] @ w[i], w[i])
            expected[i, : i + 1] = (left[: i + 1] - k[head, : i + 1]) @ q[head, i] / 2
        seen = np.tril(np.ones((count, count), bool))
        # Each of up to 130 reflections rounds a vector of four numbers, whose length it keeps.
        bound = 130 * 16 * 2.0**-52 * np.abs(q[head]).sum(-1).max() * np.abs(k[head]).sum(-1).max()
        assert np.abs(got[head] - expected)[seen].max() < bound


def test_reflections_are_one_block_in_a_compiled_program() -> None:
    encoding, place = PaTH(dim=4, heads=2, model_dim=3, rank=2), torch.arange(5)
    draw = torch.Generator().manual_seed(0)
    q, k, x = (torch.randn(shape, generator=draw) for shape in ((2, 5, 4), (2, 5, 4), (5, 3)))
    params = {name: torch.randn(shape, generator=draw) for name, shape in encoding.shapes.items()}

    def score(q: torch.Tensor) -> torch.Tensor:
        return encoding.score(q, k, place, place, params, hidden=x)

    compiled = torch.compile(score, fullgraph=True, backend="eager")
    # Five reflections, each of which rounds a vector of four numbers and keeps its length.
    bound = 5 * 16 * 2.0**-23 * float(q.abs().sum(-1).max() * k.abs().sum(-1).max())
    assert torch.allclose(compiled(q), score(q), rtol=0, atol=bound)
