"""DeBERTa, CoPE, the forgetting gate and the distance bank: what the oracles do not see, and every message."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from posenc import CoPE, DeBERTa, DistanceBank, ForgettingGate
from posenc.attention import attention
from posenc.inspect import score_by_distance
from posenc.learn import worked

RNG = np.random.default_rng(0)
QUERY, KEY = np.array([4, 0, 9]), np.array([0, 3, 4, 5, 8, 40, 2])
Q, K = RNG.standard_normal((2, 12, 3, 5)), RNG.standard_normal((2, 12, 7, 5))
ASKED, SEEN = RNG.standard_normal((2, 3, 6)), RNG.standard_normal((2, 7, 6))
RECORDS = {
    "deberta": DeBERTa(dim=5, heads=12, buckets=4, max_distance=9),
    "cope": CoPE(dim=5, rows=4),
    "gate": ForgettingGate(heads=12, model_dim=6),
    "bank": DistanceBank(heads=12, model_dim=6, basis=2, extent=4),
}
PARAMS = {
    name: {key: RNG.standard_normal(shape) for key, shape in encoding.shapes.items()}
    for name, encoding in RECORDS.items()
}
HIDDEN = {"deberta": None, "cope": None, "gate": SEEN, "bank": ASKED}


def score(name: str, **changed: object) -> np.ndarray:
    given = {
        "q": Q,
        "k": K,
        "query_positions": QUERY,
        "key_positions": KEY,
        "params": PARAMS[name],
        "hidden": HIDDEN[name],
    } | changed
    return RECORDS[name].score(**given)


@pytest.mark.parametrize("name", ["cope", "gate"])
def test_keys_count_by_position_wherever_they_stand(name: str) -> None:
    order = np.array([5, 2, 0, 6, 4, 1, 3])
    moved = score(
        name, k=K[:, :, order], key_positions=KEY[order], hidden=None if HIDDEN[name] is None else SEEN[:, order]
    )
    assert np.abs(moved - score(name)[..., order]).max() <= 64 * 2.0**-52


@pytest.mark.parametrize("name", ["cope", "gate"])
def test_decoding_one_query_with_all_keys_is_the_last_row(name: str) -> None:
    places = np.arange(7)
    q = RNG.standard_normal((2, 12, 7, 5))
    whole = score(name, q=q, query_positions=places, key_positions=places)
    assert (
        np.abs(score(name, q=q[:, :, -1:], query_positions=[6], key_positions=places)[:, :, 0] - whole[:, :, -1]).max()
        <= 64 * 2.0**-52
    )


def test_padding_behind_every_query_changes_nothing() -> None:
    padded = np.concatenate([SEEN, RNG.standard_normal((2, 2, 6))], 1)
    found = score("gate", k=np.concatenate([K, K[:, :, :2]], 2), key_positions=[*KEY, 41, 42], hidden=padded)
    assert np.abs(found[..., :7] - score("gate")).max() <= 64 * 2.0**-52


def test_a_layer_of_deberta_with_the_shared_scale() -> None:
    encoding, v = RECORDS["deberta"], RNG.standard_normal((2, 12, 7, 5))
    found = attention(
        Q,
        K,
        v,
        query_positions=QUERY,
        key_positions=KEY,
        layout="bhtd",
        encodings=[encoding],
        params=[PARAMS["deberta"]],
        scale=encoding.scale,
    )
    assert encoding.scale == 1 / math.sqrt(15)
    wanted = (Q @ K.swapaxes(-1, -2)) / math.sqrt(15) + score("deberta")
    assert np.abs(found.logits - wanted).max() <= 64 * 2.0**-52


def test_terms_add_up() -> None:
    parts = []
    for terms, name in (("c2p", "position_keys"), ("p2c", "position_queries")):
        encoding = DeBERTa(dim=5, heads=12, buckets=4, max_distance=9, terms=terms)
        parts.append(encoding.score(Q, K, QUERY, KEY, {name: PARAMS["deberta"][name]}) / encoding.scale)
    whole = score("deberta") / RECORDS["deberta"].scale
    assert np.abs(parts[0] + parts[1] - whole).max() <= 64 * 2.0**-52


def test_worked_counts_the_keys_between() -> None:
    """Four keys alike from 2 to 5, and a gate each for the three behind the first."""
    params = {"W": np.zeros((12, 6)), "c": np.zeros(12)}
    steps = worked(RECORDS["gate"], 5, key=2, params=params).steps
    assert steps[0].values[0] == pytest.approx(3 * math.log(0.5), abs=1e-12)


def test_content_that_is_no_number_gives_none() -> None:
    q = torch.tensor(Q)
    q[0, 0, 0] = float("nan")
    places = torch.tensor(QUERY), torch.tensor(KEY)
    found = RECORDS["cope"].score(q, torch.tensor(K), *places, {"table": torch.tensor(PARAMS["cope"]["table"])})
    assert found[0, 0, 0].isnan().all()
    assert found[0, 0, 1:].isfinite().all()


def test_a_position_that_is_none_spoils_what_it_would_count_in() -> None:
    params = {name: torch.tensor(value) for name, value in PARAMS["gate"].items()}
    keys = torch.tensor(np.stack([KEY, np.where(KEY == 40, 2**60, KEY)]))

    def scored(q: torch.Tensor, k: torch.Tensor, key: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return RECORDS["gate"].score(q, k, torch.tensor(QUERY), key, params, hidden=x)

    found = torch.func.vmap(scored)(torch.tensor(Q), torch.tensor(K), keys, torch.tensor(SEEN))
    assert found[0].isfinite().all()
    assert found[1].isnan().all()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: DeBERTa(dim=0, heads=1), ValueError, r"^dim must be an integer from 1"),
        (lambda: DeBERTa(dim=1, heads=0), ValueError, r"^heads must be an integer from 1"),
        (
            lambda: DeBERTa(dim=1, heads=1, buckets=5),
            ValueError,
            r"^buckets must be an even integer from 4 to 4096; got 5",
        ),
        (
            lambda: DeBERTa(dim=1, heads=1, buckets=0, max_distance=None),
            ValueError,
            r"^buckets must be an integer from 1",
        ),
        (
            lambda: DeBERTa(dim=1, heads=1, buckets=8, max_distance=5),
            ValueError,
            r"^max_distance must be an integer from 6",
        ),
        (lambda: DeBERTa(dim=1, heads=1, terms="p2p"), ValueError, r"^terms must be one of 'both', 'c2p', 'p2c'"),
        (lambda: DeBERTa(dim=1 << 20, heads=1 << 10), ValueError, r"^buckets must need at most"),
        (lambda: score("deberta", q=Q[:, :3]), ValueError, r"^q must have 12 heads; got shape \(2, 3, 3, 5\)"),
        (lambda: score("deberta", k=K[..., :4]), ValueError, r"^k must have shape"),
        (
            lambda: score("deberta", query_positions=QUERY + 0.5),
            ValueError,
            r"^query_positions must hold whole numbers",
        ),
        (
            lambda: score("deberta", key_positions=KEY[:2]),
            ValueError,
            r"^key_positions must hold a position for each of 7 tokens",
        ),
        (lambda: score("deberta", params=None), ValueError, r"^params must hold what DeBERTa learns"),
        (
            lambda: score_by_distance(CoPE(dim=4), [0, 1]),
            TypeError,
            r"^encoding must have a score that depends on its own key",
        ),
        (lambda: CoPE(dim=0), ValueError, r"^dim must be an integer from 1"),
        (lambda: CoPE(dim=4, rows=1), ValueError, r"^rows must be an integer from 2"),
        (lambda: CoPE(dim=1 << 20, rows=1 << 20), ValueError, r"^rows must need at most"),
        (lambda: score("cope", q=Q[..., :4]), ValueError, r"^q must have shape"),
        (lambda: score("cope", key_positions=[math.nan] * 7), ValueError, r"^key_positions must be finite"),
        (lambda: ForgettingGate(heads=0, model_dim=1), ValueError, r"^heads must be an integer from 1"),
        (lambda: ForgettingGate(heads=1, model_dim=0), ValueError, r"^model_dim must be an integer from 1"),
        (lambda: ForgettingGate(heads=1 << 16, model_dim=1 << 20), ValueError, r"^model_dim must need at most"),
        (
            lambda: score("gate", hidden=None),
            ValueError,
            r"^hidden must hold the input of the layer, shape \(2, 7, 6\); got None",
        ),
        (lambda: score("gate", hidden=ASKED), ValueError, r"^hidden must have shape \(2, 7, 6\).*got \(2, 3, 6\)"),
        (lambda: score("gate", hidden=SEEN > 0), TypeError, r"^hidden must hold floats; got bool"),
        (lambda: score("gate", hidden=torch.tensor(SEEN)), TypeError, r"^arrays must come from one library"),
        (lambda: score("gate", q=Q[:, :3]), ValueError, r"^q must have 12 heads"),
        (lambda: DistanceBank(heads=0, model_dim=1), ValueError, r"^heads must be an integer from 1"),
        (lambda: DistanceBank(heads=1, model_dim=0), ValueError, r"^model_dim must be an integer from 1"),
        (lambda: DistanceBank(heads=1, model_dim=1, basis=0), ValueError, r"^basis must be an integer from 1"),
        (lambda: DistanceBank(heads=1, model_dim=1, extent=0), ValueError, r"^extent must be an integer from 1"),
        (lambda: DistanceBank(heads=1 << 16, model_dim=1 << 20), ValueError, r"^model_dim must need at most"),
        (
            lambda: DistanceBank(heads=1, model_dim=1, basis=1 << 20, extent=1 << 20),
            ValueError,
            r"^model_dim|^extent must need",
        ),
        (lambda: score("bank", q=Q[:, :3]), ValueError, r"^q must have 12 heads"),
        (lambda: score("bank", key_positions=KEY + 0.25), ValueError, r"^key_positions must hold whole numbers"),
        (lambda: score("bank", hidden=SEEN), ValueError, r"^hidden must have shape \(2, 3, 6\)"),
        *(
            (lambda name=name: RECORDS[name].init(3), TypeError, r"^rng must be a numpy.random.Generator; got 3")
            for name in RECORDS
        ),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
