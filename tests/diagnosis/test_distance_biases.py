"""Biases of distance: dumped biases and logits, with mistakes planted by code of the tests' own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from effort import calls_at_most
from posenc import ALiBi, RelativeBias, T5Bias
from posenc.diagnosis import diagnose
from posenc.models import from_config

N, H, D = 200, 8, 32
P = np.arange(N)
RANDOM = np.random.default_rng(7)
Q, K = RANDOM.standard_normal((2, H, N, D))
TABLE = RANDOM.standard_normal((32, H))
LATER = P[None, :] > P[:, None]
BLOOM = {"model_type": "bloom", "n_head": H, "n_layer": 2, "hidden_size": H * D}
FALCON = {"model_type": "falcon", "alibi": True, "num_attention_heads": H, "hidden_size": H * D, "num_hidden_layers": 2}
T5 = {"model_type": "t5", "num_heads": H, "num_layers": 2, "d_kv": D, "d_model": H * D}
ALIBI, SIX = ALiBi(H), ALiBi(6)
ENCODER, DECODER = T5Bias(H), T5Bias(H, bidirectional=False)


def slopes(heads: int = H, steepest: float = 8.0, first: int = 1) -> np.ndarray:
    return np.array([2.0 ** (-steepest * (h + first) / heads) for h in range(heads)])


def linear(slope: np.ndarray, query_positions: Any = P, key_positions: Any = P) -> np.ndarray:
    """-slope·distance."""
    return -slope[:, None, None] * np.abs(
        np.subtract.outer(np.asarray(query_positions, float), np.asarray(key_positions, float))
    )


def masked(values: np.ndarray, by: float = -np.inf) -> np.ndarray:
    return np.where(LATER, by, values)


def bucket(distance: int, both: bool = True, buckets: int = 32, most: int = 128, clamped: bool = True) -> int:
    """The bucket of key - query, one at a time, as the authors' code has it."""
    start = 0
    if both:
        buckets //= 2
        start, distance = (buckets if distance > 0 else 0), abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return start + distance
    # The small addend keeps whole logarithms whole.
    step = int(math.log(distance / exact) / math.log(most / exact) * (buckets - exact) + 1e-9)
    return start + min(exact + step, buckets - 1) if clamped else min(start + exact + step, 31)


def buckets(shift: int = 0, sign: int = 1, table: np.ndarray = TABLE, **how: Any) -> np.ndarray:
    own = {gap: bucket(sign * (gap + shift), **how) for gap in range(-N, N + 1)}
    index = np.array([[own[int(k - q)] for k in P] for q in P])
    return np.moveaxis(table[index], -1, 0)


def logits(bias: np.ndarray, scale: float) -> dict[str, Any]:
    return {"q": Q, "k": K, "logits": Q @ K.swapaxes(-1, -2) * scale + bias}


def bfloat16(values: np.ndarray) -> np.ndarray:
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 256) / 256, exponent)


def paper(heads: int) -> np.ndarray:
    """Slopes of the authors' code: of 8 for 12 heads, and every second of 16."""
    near = 2 ** int(np.log2(heads))
    return np.concatenate([slopes(near), slopes(2 * near)[::2][: heads - near]])


def with_neighbour(heads: int, head: int = 2) -> np.ndarray:
    """Slopes of which one is that of the next head."""
    return np.where(np.arange(heads) == head, np.roll(paper(heads), -1), paper(heads))


def probabilities(bias: np.ndarray, scale: float) -> dict[str, Any]:
    dump = logits(bias, scale)
    power = np.exp(dump["logits"] - dump["logits"].max(-1, keepdims=True))
    return {"q": Q, "k": K, "probabilities": power / power.sum(-1, keepdims=True)}


ROOT = D**-0.5
ONE: dict[str, tuple[Any, Any, str]] = {
    "no bias at all": (BLOOM, logits(masked(np.zeros((H, N, N))), ROOT), "bias left out"),
    "a bias of zeros": (ALIBI, {"bias": np.zeros((H, N, N))}, "bias left out"),
    "far keys win": (BLOOM, {"bias": masked(-linear(slopes()))}, "sign of the bias"),
    "slopes counted from 0": (BLOOM, {"bias": masked(linear(slopes(first=0)))}, "first slope"),
    "another slope in one head": (ALIBI, {"bias": linear(np.where(P[:H] == 3, 0.4, slopes()))}, "slopes of heads"),
    "two heads without a slope": (ALIBI, {"bias": linear(slopes() * (np.arange(H) % 4 > 0))}, "slopes of heads"),
    "a slope twice": (ALIBI, {"bias": linear(slopes()[[0, 0, 2, 3, 4, 5, 6, 7]])}, "slopes of heads"),
    "buckets without a last one": (ENCODER, {"bias": buckets(clamped=False), "table": TABLE}, "far buckets"),
    "slopes to 2^-16": (ALIBI, {"bias": linear(slopes(steepest=16.0))}, "steepest"),
    "slopes of half of the heads": (BLOOM, logits(masked(linear(np.tile(slopes(4), 2))), ROOT), "slopes of a shard"),
    "the first half of the slopes twice": (ALIBI, {"bias": linear(np.tile(slopes()[:4], 2))}, "order of heads"),
    "heads in the opposite order": (ALIBI, {"bias": linear(slopes()[::-1])}, "order of heads"),
    "geometric slopes for six heads": (SIX, {"bias": linear(slopes(6))}, "slope rule"),
    "later keys are rewarded": (ALIBI, {"bias": slopes()[:, None, None] * np.subtract.outer(-P, -P).T[None] * -1.0},
        "form"),
    "falcon's bias after the root": (FALCON, logits(masked(linear(slopes())), ROOT), "bias and root"),
    "bloom's bias before the root": (BLOOM, logits(masked(linear(slopes()) * ROOT), ROOT), "bias and root"),
    "the bias 1.7 times": (BLOOM, {"bias": masked(1.7 * linear(slopes()))}, "bias factor"),
    "products not divided": (BLOOM, logits(masked(linear(slopes())), 1.0), "scale of the logits"),
    "positions in bfloat16": (
        ALiBi(H),
        {"bias": linear(slopes(), bfloat16(P + 900.0), bfloat16(P + 900.0)), "positions": P + 900},
        "narrow positions",
    ),
    "a bias in bfloat16": (ALiBi(H, steepest=7.0), {"bias": bfloat16(linear(slopes(steepest=7.0)))}, "narrow bias"),
    "a decoder's buckets": (ENCODER, {"bias": buckets(both=False)}, "both directions"),
    "an encoder's buckets": (DECODER, {"bias": buckets()}, "both directions"),
    "buckets to 64": (ENCODER, {"bias": buckets(most=64), "table": TABLE}, "largest distance"),
    "buckets to 512, the table not given": (ENCODER, {"bias": buckets(most=512)}, "largest distance"),
    "64 buckets": (ENCODER, {"bias": buckets(buckets=64, table=RANDOM.standard_normal((64, H)))}, "buckets"),
    "query minus key": (ENCODER, {"bias": buckets(sign=-1), "table": TABLE}, "query for key"),
    "queries one late": (ENCODER, {"bias": buckets(shift=-1)}, "off by one"),
    "no table added": (ENCODER, {"bias": np.zeros((H, N, N)), "table": TABLE}, "bias left out"),
    "t5 divided by the root": (T5, {**logits(buckets(), ROOT), "table": TABLE}, "scale of the logits"),
    "t5 divided, table not given": (T5, logits(buckets(), ROOT), "scale of the logits"),
    **{f"slopes of {heads} heads rolled": (ALiBi(heads), {"bias": linear(np.roll(paper(heads), 1))}, "order of heads")
       for heads in (8, 12, 16)},
    **{f"one of {heads} heads with its neighbour's slope":
       (ALiBi(heads), {"bias": linear(with_neighbour(heads))}, "slopes of heads") for heads in (8, 12, 16)},
    "heads of two shards in turn": (ALiBi(12), {"bias": linear(paper(12).reshape(2, 6).T.reshape(-1))},
        "order of heads"),
    "half of the buckets": (ENCODER, {"bias": buckets(buckets=16), "table": TABLE}, "buckets"),
    "half of the buckets of a decoder": (DECODER, {"bias": buckets(both=False, buckets=16), "table": TABLE}, "buckets"),
    "probabilities of slopes to 2^-16": (BLOOM, probabilities(masked(linear(slopes(steepest=16.0))), ROOT), "steepest"),
    "the table negated": (ENCODER, {"bias": -buckets(), "table": TABLE}, "sign of the bias"),
}  # fmt: skip

TWO: dict[str, tuple[Any, Any, set[str]]] = {
    "far keys win, slopes to 2^-16": (
        BLOOM,
        {"bias": masked(-linear(slopes(steepest=16.0)))},
        {"sign of the bias", "steepest"},
    ),
    "a decoder's buckets to 64": (ENCODER, {"bias": buckets(both=False, most=64)},
        {"both directions", "largest distance"}),
    "heads reversed, products not divided": (
        BLOOM,
        logits(masked(linear(slopes()[::-1])), 1.0),
        {"order of heads", "scale of the logits"},
    ),
}  # fmt: skip

NEITHER: dict[str, tuple[Any, Any]] = {
    "noise": (ALIBI, {"bias": linear(slopes()) + RANDOM.standard_normal((H, N, N))}),
    "squared distances": (ALIBI, {"bias": linear(slopes()) * np.abs(np.subtract.outer(P, P))}),
    "a bias a pair of tokens": (ENCODER, {"bias": RANDOM.standard_normal((H, N, N))}),
}

HARMLESS: dict[str, tuple[Any, Any]] = {
    "the same": (ALIBI, {"bias": linear(slopes())}),
    "bloom's slope times key": (BLOOM, {"bias": np.broadcast_to(slopes()[:, None, None] * P, (H, N, N))}),
    "mpt's, from the last key": (BLOOM, {"bias": np.broadcast_to(slopes()[:, None, None] * (P - N + 1.0), (H, N, N))}),
    "a mask of large numbers": (BLOOM, {"bias": masked(linear(slopes()), -3.4e38)}),
    "float32": (ALIBI, {"bias": linear(slopes()).astype(np.float32)}),
    "logits": (BLOOM, logits(masked(linear(slopes())), ROOT)),
    "falcon's logits": (FALCON, logits(masked(linear(slopes()) * ROOT), ROOT)),
    "left padding": (BLOOM, {"bias": masked(linear(slopes())), "positions": P + 31}),
    "a row of the batch": (ALIBI, {"bias": linear(slopes())[None]}),
    "one decoded token": (BLOOM, {"bias": slopes()[:, None, None] * P, "query_positions": P[-1:]}),
    "t5": (ENCODER, {"bias": buckets(), "table": TABLE}),
    "t5 without its table": (ENCODER, {"bias": buckets()}),
    "probabilities": (BLOOM, probabilities(masked(linear(slopes())), ROOT)),
    "t5's probabilities": (T5, probabilities(buckets(), 1.0)),
    "t5's logits": (T5, logits(buckets(), 1.0)),
    "t5's decoder": (DECODER, {"bias": masked(buckets(both=False), -1e9), "table": TABLE}),
}


def asked(meant: Any, there: Any) -> Any:
    return diagnose(meant, there, part="encoder" if meant is T5 else None)


@pytest.mark.parametrize("case", ONE)
def test_one_planted_mistake_is_named(case: str) -> None:
    meant, there, name = ONE[case]
    found = asked(meant, there)
    assert not found.agree
    assert [finding.name for finding in found.findings] == [name], str(found)
    assert found.findings[0].sentence.endswith(".")


@pytest.mark.parametrize("case", TWO)
def test_two_planted_mistakes_are_named(case: str) -> None:
    meant, there, names = TWO[case]
    assert {finding.name for finding in asked(meant, there).findings} == names


@pytest.mark.parametrize("case", NEITHER)
def test_what_is_outside_of_the_bank_is_not_named(case: str) -> None:
    with calls_at_most():
        found = asked(*NEITHER[case])
    assert (found.agree, found.findings) == (False, ())


@pytest.mark.parametrize("case", HARMLESS)
def test_what_is_harmless_is_not_flagged(case: str) -> None:
    found = asked(*HARMLESS[case])
    assert found.agree, str(found)
    assert found.findings == ()


def test_what_cannot_be_seen_is_said() -> None:
    assert "read off these numbers" in str(diagnose(ENCODER, {"bias": buckets()}))
    assert "which no softmax sees" in str(
        diagnose(BLOOM, {"bias": np.broadcast_to(slopes()[:, None, None] * P, (H, N, N))})
    )


@pytest.mark.parametrize(
    ("meant", "there", "message"),
    [
        (T5, {"bias": buckets()}, "part must say which part"),
        (from_config(T5), {"bias": buckets()}, "part must say which part"),
        (ALIBI, {"cos": P, "sin": P}, "actual must hold bias, or q, k and logits, for ALiBi; got cos, sin"),
        (ALIBI, {"bias": np.zeros((4, N, N))}, r"bias must have shape \(8, n, m\)"),
        (ALIBI, {"bias": np.zeros((2, H, N, N))}, r"bias must have shape \(8, n, m\)"),
        (ALIBI, {"bias": np.zeros((H, 1, N))}, "query_positions must be given"),
        (ALIBI, {"bias": np.zeros((H, N, N)), "positions": P[:5]}, "query_positions must hold a whole number for each"),
        (ALIBI, {"bias": np.zeros((H, N, N)), "positions": P + 0.5},
            "query_positions must hold a whole number for each"),
        (ALIBI, {"q": Q, "logits": np.zeros((H, N, N))}, "actual must hold q, k and logits together; got no k"),
        (ALIBI, {"q": Q[..., :4], "k": K, "logits": np.zeros((H, N, N))}, "logits must have shape"),
        (ENCODER, {"bias": buckets(), "table": TABLE[:4]}, r"table must have shape \(32, 8\)"),
        (RelativeBias(H, 8), {"bias": np.zeros((H, N, N))}, "expected must be ALiBi or T5Bias"),
    ],
)  # fmt: skip
def test_bad_input_is_named(meant: Any, there: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        diagnose(meant, there)


@pytest.mark.parametrize("heads", [6, 8, 12, 20])
@pytest.mark.parametrize("make", [ALiBi, T5Bias])
def test_a_bias_that_nothing_explains_is_said_to_differ(make: Any, heads: int) -> None:
    """Every pair of mistakes is tried, those of shards and of single heads among them."""
    noise = np.random.default_rng(heads).standard_normal((heads, 40, 40))
    found = diagnose(make(heads=heads), {"bias": noise})
    assert not found.agree
    assert not found.findings
    assert found.worst
