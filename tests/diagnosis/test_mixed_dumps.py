"""Dumps of several kinds of evidence: each array is compared, or named as not compared, never passed over.

All numbers are computed here in NumPy, from the papers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diagnosis import rotary_implementation as rotary
from posenc import ALiBi, RoPE, Sinusoidal
from posenc.diagnosis import Diagnosis, diagnose

N, D, HEADS = 40, 64, 8
P = np.arange(N)
Q, K = rotary.drawn(HEADS, N, D), rotary.drawn(HEADS, N, D, seed=1)
RATES, WRONG_RATES = rotary.frequencies(D, 1e4), rotary.frequencies(D, 5e5)
ROPE, ALIBI = RoPE(D, pairing="halves"), ALiBi(heads=HEADS)
BIAS = 2.0 ** -np.arange(1.0, HEADS + 1)[:, None, None] * -np.abs(P - P[:, None])
BLOOM = {"model_type": "bloom", "n_head": HEADS, "n_layer": 2, "hidden_size": HEADS * D}
GPT2 = {"model_type": "gpt2", "n_embd": D, "n_head": 2, "n_layer": 2, "n_positions": 64}
WAVES = P[:, None] * 1e4 ** (-np.arange(D // 2) / (D // 2))
TABLE = np.stack([np.sin(WAVES), np.cos(WAVES)], -1).reshape(N, D)
WORDS = rotary.drawn(N, D, seed=2)


def rotated(x: np.ndarray, rates: np.ndarray = RATES) -> np.ndarray:
    return rotary.halves(x, *rotary.waves(rates, P))


def logits(rates: np.ndarray = RATES) -> np.ndarray:
    return rotated(Q, rates) @ rotated(K, rates).swapaxes(1, 2) / D**0.5


def softmax(values: np.ndarray) -> np.ndarray:
    shares = np.exp(values - values.max(-1, keepdims=True))
    return np.asarray(shares / shares.sum(-1, keepdims=True))


PRODUCTS = Q @ K.swapaxes(1, 2) / D**0.5
VECTORS = {"q": Q, "k": K, "q_rotated": rotated(Q), "k_rotated": rotated(K)}
HIDDEN = {"embeddings": WORDS, "hidden_states": WORDS + TABLE}


@pytest.mark.parametrize(
    ("expected", "dump", "wrong"),
    [
        (ROPE, {"q": Q, "k": K, "logits": logits(WRONG_RATES), "probabilities": softmax(logits())}, "base (in logits)"),
        (ROPE, {"q": Q, "k": K, "logits": logits(), "probabilities": softmax(logits(WRONG_RATES))},
         "base (in probabilities)"),
        (ALIBI, {"q": Q, "k": K, "bias": BIAS, "logits": PRODUCTS}, "bias left out (in logits)"),
        (ALIBI, {"q": Q, "k": K, "bias": 2 * BIAS, "logits": PRODUCTS + BIAS}, "first slope (in bias)"),
        (BLOOM, {"q": Q, "k": K, "bias": BIAS, "probabilities": softmax(np.where(P[:, None] < P, -np.inf, PRODUCTS))},
         "bias left out (in probabilities)"),
        (Sinusoidal(D), {"table": 2 * TABLE, **HIDDEN}, "values scaled (in table)"),
        (Sinusoidal(D), {"table": TABLE, "embeddings": WORDS, "hidden_states": WORDS + 2 * TABLE},
         "values scaled (in hidden_states)"),
    ],
)  # fmt: skip
def test_of_arrays_that_say_the_same_the_wrong_one_is_named(expected: Any, dump: dict[str, Any], wrong: str) -> None:
    verdict = diagnose(expected, dump)
    assert [f"{finding.name} ({finding.where})" for finding in verdict.findings] == [wrong]
    assert verdict.exit_code == 1


@pytest.mark.parametrize(
    ("expected", "dump"),
    [
        (ROPE, {"q": Q, "k": K, "logits": logits(), "probabilities": softmax(logits())}),
        (ALIBI, {"q": Q, "k": K, "bias": BIAS, "logits": PRODUCTS + BIAS, "probabilities": softmax(PRODUCTS + BIAS)}),
        (Sinusoidal(D), {"table": TABLE, **HIDDEN}),
    ],
)
def test_arrays_that_say_the_same_and_are_right_agree(expected: Any, dump: dict[str, Any]) -> None:
    verdict = diagnose(expected, dump)
    assert verdict.agree
    assert not verdict.not_compared


@pytest.mark.parametrize(
    ("expected", "dump", "passed_over"),
    [
        (ROPE, VECTORS | {"bias": BIAS}, "bias, which these layers have nothing to compare with"),
        (ROPE, VECTORS | {"table": TABLE} | HIDDEN, "embeddings, hidden_states, table, which"),
        (ROPE, VECTORS | {"scale": 0.5}, "scale, which is read only with q, k and logits or probabilities"),
        (ROPE, {"q": Q, "k": K, "k_rotated": rotated(K)}, "q, which is read only with q_rotated, or k and logits"),
        (ROPE, VECTORS | {"positions": P + 7, "query_positions": P, "key_positions": P}, "positions, which"),
        (ROPE, {"inv_freq": RATES, "positions": P}, "positions, which"),
        (ROPE, {"cos": np.cos(P[:, None] * RATES), "sin": np.sin(P[:, None] * RATES), "query_positions": P + 3},
         "query_positions, which"),
        (ALIBI, {"bias": BIAS, "inv_freq": RATES}, "inv_freq, which these layers have nothing"),
        (ALIBI, {"bias": BIAS, "table": TABLE}, "table, which these layers have nothing"),
        (ALIBI, {"bias": BIAS, "q": Q, "q_rotated": rotated(Q)}, "q, which is read only with k and logits or prob"),
        (ALIBI, {"bias": BIAS, "attention_factor": np.array(1.0)}, "attention_factor, which these layers have nothing"),
        (Sinusoidal(D), {"table": TABLE, "bias": BIAS}, "bias, which"),
        (Sinusoidal(D), {"table": TABLE, "q": Q, "k": K, "logits": logits()}, "q, k, the values of logits, which"),
        (GPT2, {"table": TABLE, "q": Q, "q_rotated": rotated(Q), **HIDDEN}, "q, q_rotated, which these layers"),
    ],
)  # fmt: skip
def test_an_array_that_nothing_is_compared_with_is_named(expected: Any, dump: dict[str, Any], passed_over: str) -> None:
    verdict = diagnose(expected, dump)
    assert verdict.agree
    assert verdict.exit_code == 3
    assert any(passed_over in line for line in verdict.not_compared), verdict.not_compared


def test_each_array_whose_difference_nothing_explains_is_named() -> None:
    bias, values = rotary.drawn(HEADS, N, N, seed=3), rotary.drawn(HEADS, N, N, seed=4)
    worst = diagnose(ALIBI, {"q": Q, "k": K, "bias": bias, "logits": values}).worst
    assert [line.partition(" off by ")[0] for line in worst] == ["in bias:", "in logits:"]


def test_arrays_that_are_all_compared_leave_nothing_out() -> None:
    verdict: Diagnosis = diagnose(ROPE, VECTORS | {"positions": P, "logits": logits(), "scale": D**-0.5})
    assert verdict.agree
    assert not verdict.not_compared


def test_frequencies_that_nothing_uses_are_noted_beside_vectors_too() -> None:
    waves = {"cos": np.cos(P[:, None] * RATES), "sin": np.sin(P[:, None] * RATES)}
    verdict = diagnose(ROPE, VECTORS | waves | {"inv_freq": WRONG_RATES})
    assert verdict.agree
    assert any("inv_freq" in note for note in verdict.notes)
    assert not diagnose(ROPE, VECTORS | waves | {"inv_freq": RATES}).notes


def test_tokens_that_share_a_shift_stand_in_other_rows_of_a_cache() -> None:
    waves = [wave(P[:, None] * RATES) for wave in (np.cos, np.sin)]
    later = {name: rotary.halves(x, *rotary.waves(RATES, P + 7)) for name, x in (("q_rotated", Q), ("k_rotated", K))}
    cache = {"cos_sin_cache": np.concatenate(waves, -1), "q": Q, "k": K}
    verdict = diagnose(ROPE, cache | later)
    assert verdict.agree
    assert "positions are shifted by 7" in str(verdict)
    assert not diagnose(ROPE, cache | later | {"k_rotated": rotated(K)}).agree
    tokens_first = {name: x.swapaxes(0, 1) for name, x in ({"q": Q, "k": K} | later).items()}
    with pytest.raises(ValueError, match=r"^layout must say which axis of q and k holds the tokens; got None"):
        diagnose(ROPE, cache | tokens_first)
    wrong = np.concatenate([wave(P[:, None] * WRONG_RATES) for wave in (np.cos, np.sin)], -1)
    assert not diagnose(ROPE, cache | later | {"cos_sin_cache": wrong}).agree
