"""Masks in logits and probabilities: of few queries, of single heads, in 16 bits, without the query's own key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diagnosis import rotary_implementation as rotary
from posenc.diagnosis import diagnose
from posenc.diagnosis.judge_masks import IRREGULAR, TOO_SMALL, compare_mask

N, D, HEADS = 40, 64, 4
MISTRAL = {
    "model_type": "mistral", "head_dim": D, "num_attention_heads": HEADS, "hidden_size": 256, "num_hidden_layers": 2,
    "rope_theta": 10_000.0, "sliding_window": 16, "max_position_embeddings": 8192,
}  # fmt: skip
LLAMA = MISTRAL | {"model_type": "llama", "sliding_window": None}
Q, K = rotary.drawn(HEADS, N, D), rotary.drawn(HEADS, N, D, seed=1)
RATES = rotary.frequencies(D, 1e4)


def seen(queries: int, window: int = N, later: int = 0) -> np.ndarray:
    distance = np.arange(N)[N - queries :, None] - np.arange(N)
    return (distance < window) & (distance >= -later)


def dump(visible: np.ndarray, form: str = "logits", dtype: str = "float32", at: int = 5000) -> dict[str, Any]:
    """The last queries of a dump in which queries see these keys, (n, m) or (heads, n, m)."""
    count = visible.shape[-2]
    positions = at + np.arange(N)
    q, k = Q[:, N - count :].astype(dtype).astype(float), K.astype(dtype).astype(float)
    rotated = [rotary.halves(x, *rotary.waves(RATES, positions[-x.shape[1] :])) for x in (q, k)]
    values = np.where(visible, rotated[0] @ rotated[1].swapaxes(1, 2) / D**0.5, -np.inf)
    if form == "probabilities":
        shares = np.exp(values - values.max(-1, keepdims=True))
        values = shares / shares.sum(-1, keepdims=True)
    return {"q": q, "k": k, form: values.astype(dtype), "query_positions": positions[-count:],
            "key_positions": positions}  # fmt: skip


def of_head(right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    return np.stack([right, right, wrong, right])


@pytest.mark.parametrize("form", ["logits", "probabilities"])
@pytest.mark.parametrize("queries", [1, 3, N])
def test_a_window_is_seen_with_few_queries(form: str, queries: int) -> None:
    assert diagnose(MISTRAL, dump(seen(queries, 16), form)).agree
    assert diagnose(LLAMA, dump(seen(queries), form)).agree
    for config, window in ((MISTRAL, 15), (MISTRAL, 17), (LLAMA, 30)):
        found = diagnose(config, dump(seen(queries, window), form)).findings
        assert [finding.name for finding in found] == ["window"]
        assert f"keys up to {window - 1} positions before" in found[0].sentence


@pytest.mark.parametrize("count", [1, 4])
def test_padding_before_few_queries_is_no_window(count: int) -> None:
    padded = dump(seen(count) & (np.arange(N) >= 6), at=-6)
    for positions in (padded["key_positions"], np.maximum(padded["key_positions"], 0)):
        found = diagnose(LLAMA, padded | {"key_positions": positions})
        assert found.agree
        assert "window" in found.looked_at
    square = dump(seen(N) & (np.arange(N) >= 6) & (np.arange(N)[:, None] >= 6))
    assert diagnose(LLAMA, square).agree
    behind = dump(seen(N) & (np.arange(N) < N - 6))
    assert diagnose(LLAMA, behind).agree


@pytest.mark.parametrize("form", ["logits", "probabilities"])
@pytest.mark.parametrize("config", [LLAMA, MISTRAL])
def test_a_query_that_does_not_see_its_own_key_is_named(form: str, config: dict[str, Any]) -> None:
    visible = seen(N, 16 if config is MISTRAL else N) & ~np.eye(N, dtype=bool)
    visible[0, 0] = True  # a softmax of nothing would be NaN
    for rows in (visible, visible[-1:]):
        found = diagnose(config, dump(rows, form)).findings
        assert [(finding.name, finding.sentence) for finding in found] == [
            ("causal mask", "Queries do not see their own key.")
        ]


def test_a_single_query_of_many_that_does_not_see_its_own_key_is_no_causal_mask() -> None:
    visible, at = seen(N), np.arange(N)
    visible[5, 5] = False
    assert compare_mask(None, visible, at, at, True).notes == (IRREGULAR,)


def test_later_keys_are_seen_where_a_file_of_a_causal_type_says_so() -> None:
    everything = dump(seen(N, later=N), "probabilities")
    assert diagnose(LLAMA | {"is_causal": False}, everything).agree
    assert [finding.name for finding in diagnose(LLAMA, everything).findings] == ["causal mask"]


@pytest.mark.parametrize("queries", [1, N])
def test_a_head_of_probabilities_that_sees_less_is_named(queries: int) -> None:
    visible = of_head(seen(queries, 16), seen(queries, 15))
    found = diagnose(MISTRAL, dump(visible, "probabilities")).findings
    assert [(finding.name, finding.where) for finding in found] == [("window", "head 2")]


def test_a_probability_that_is_too_small_to_be_held_is_no_mask() -> None:
    given = dump(seen(N), "probabilities")
    q = given["q"] * np.where(np.arange(HEADS) == 2, 60.0, 1.0)[:, None, None]
    rotated = [rotary.halves(x, *rotary.waves(RATES, given["key_positions"])) for x in (q, given["k"])]
    values = np.where(seen(N), rotated[0] @ rotated[1].swapaxes(1, 2) / D**0.5, -np.inf)
    shares = np.exp(values - values.max(-1, keepdims=True))
    shares = (shares / shares.sum(-1, keepdims=True)).astype(np.float32)
    assert (shares[2][seen(N)] == 0.0).any()
    found = diagnose(LLAMA, given | {"q": q, "probabilities": shares})
    assert found.agree
    assert TOO_SMALL in found.notes
    assert not {"window", "causal mask"} & set(found.looked_at)


def test_a_head_of_float16_probabilities_that_holds_0_for_small_ones_is_no_mask() -> None:
    """Where other heads show that the one query sees all keys: float16 holds no probability below 6e-8."""
    given = dump(seen(1), "probabilities", "float16")
    for hidden in (np.arange(N) == N - 1, np.arange(N) < 8):  # its own key, and those far away
        shares = np.where(hidden & (np.arange(HEADS) == 2)[:, None, None], 0.0, given["probabilities"])
        found = diagnose(LLAMA, given | {"probabilities": shares.astype("float16")})
        assert found.agree, str(found)
        assert TOO_SMALL in found.notes
        assert not {"window", "causal mask"} & set(found.looked_at)


@pytest.mark.parametrize(("window", "later", "name"), [(16, 1, "causal mask"), (20, 0, "window")])
def test_keys_that_float16_probabilities_show_are_seen(window: int, later: int, name: str) -> None:
    assert diagnose(MISTRAL, dump(seen(N, 16), "probabilities", "float16")).agree
    found = diagnose(MISTRAL, dump(seen(N, window, later), "probabilities", "float16")).findings
    assert [finding.name for finding in found] == [name]
