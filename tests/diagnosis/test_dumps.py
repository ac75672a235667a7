"""Kinds of dumps and faults of a row, a head or a side, planted in NumPy: each is agreed with, or named with its place.

Nothing of posenc computes a number here, so that a mistake in it cannot plant itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diagnosis import rotary_implementation as rotary
from effort import calls_at_most
from posenc import AxialRoPE, DynamicNTK, RoPE, YaRN
from posenc.diagnosis import diagnose

N, D, HEADS = 256, 64, 16
P = np.arange(N)
Q, K = rotary.drawn(N, D), rotary.drawn(N, D, seed=1)
Q_HEADS, K_HEADS = rotary.drawn(HEADS, 130, D, seed=2), rotary.drawn(HEADS // 4, 130, D, seed=3)
MANY_HEADS, LONG_HEADS = rotary.drawn(32, 16, D, seed=4), rotary.drawn(4, 257, D, seed=5)
RATES = rotary.frequencies(D, 1e4)
MEANT = RoPE(D, pairing="halves")
YARN = RoPE(D, base=1e6, pairing="halves", scaling=YaRN(4.0, 8192))
YARN_RATES, FACTOR = rotary.yarn(D, 1e6, 4.0, 8192), rotary.mscale(4.0)
DYNAMIC = RoPE(D, pairing="halves", scaling=DynamicNTK(2.0, 128, 512))
LATER = P[:, None] < P
MISTRAL = {
    "model_type": "mistral", "head_dim": D, "num_attention_heads": 4, "hidden_size": 256, "num_hidden_layers": 2,
    "rope_theta": 10_000.0, "sliding_window": 64, "max_position_embeddings": 4096,
}  # fmt: skip
LLAMA = MISTRAL | {"model_type": "llama", "sliding_window": None}
#: A layer that does not rotate, and a model whose queries see both sides.
NOPE = LLAMA | {"model_type": "smollm3", "no_rope_layers": [0, 0]}
BERT_LIKE = LLAMA | {"model_type": "eurobert"}


def rotate(x: np.ndarray, rates: Any = RATES, positions: Any = None, rotation: Any = rotary.halves, factor: Any = 1.0):
    positions = np.arange(x.shape[-2]) if positions is None else np.asarray(positions)
    cos, sin = rotary.waves(np.asarray(rates), positions)
    return rotation(x, cos * factor, sin * factor)


def queries(rotated: np.ndarray, x: np.ndarray = Q) -> dict[str, Any]:
    return {"q": x, "q_rotated": rotated}


def both(q: np.ndarray, k: np.ndarray) -> dict[str, Any]:
    return {"q": Q, "k": K, "q_rotated": q, "k_rotated": k}


def logits(q: np.ndarray | None = None, k: np.ndarray | None = None, scale: float = D**-0.5) -> dict[str, Any]:
    q, k = rotate(Q) if q is None else q, rotate(K) if k is None else k
    return {"q": Q, "k": K, "logits": q @ k.T * scale}


def masked(values: np.ndarray, seen: int = N, later: int = 0, by: float = -np.inf) -> np.ndarray:
    distance = P[:, None] - P
    return np.where((distance < seen) & (distance >= -later), values, by)


def softmax(values: np.ndarray) -> np.ndarray:
    power = np.exp(values - values.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def log_softmax(values: np.ndarray) -> np.ndarray:
    return values - np.log(np.exp(values).sum(-1, keepdims=True))


def probabilities(seen: int = N, **what: Any) -> dict[str, Any]:
    whole = logits(**what)
    return {"q": Q, "k": K, "probabilities": softmax(masked(whole["logits"], seen))}


def attention(keys: Any = None, **how: Any) -> dict[str, Any]:
    """Logits of all heads of grouped queries, (heads, tokens, tokens)."""
    k = np.repeat(rotate(K_HEADS) if keys is None else keys, HEADS // len(K_HEADS), 0)
    return {"q": Q_HEADS, "k": K_HEADS, "logits": rotate(Q_HEADS, **how) @ k.swapaxes(-1, -2) * D**-0.5}


def causal(of_heads: dict[str, Any], form: str) -> dict[str, Any]:
    """Logits of all heads with their mask, or the probabilities that they give."""
    whole = of_heads["logits"]
    seen = np.where(np.tri(whole.shape[1], dtype=bool), whole, -np.inf)
    shown = {"logits": seen} if form == "logits" else {"probabilities": softmax(seen)}
    return {"q": of_heads["q"], "k": of_heads["k"], **shown}


def of_keys(positions: np.ndarray) -> dict[str, Any]:
    return attention(keys=rotate(K_HEADS, positions=positions))


def of_base(base: float) -> dict[str, Any]:
    rates = rotary.frequencies(D, base)
    return attention(rates=rates, keys=rotate(K_HEADS, rates))


def of_other_key_heads() -> dict[str, Any]:
    """Keys repeated as 0, 1, 2, 3, 0, 1, ... where each belongs to four neighbours."""
    k = np.tile(rotate(K_HEADS), (HEADS // len(K_HEADS), 1, 1))
    return {"q": Q_HEADS, "k": K_HEADS, "logits": rotate(Q_HEADS) @ k.swapaxes(-1, -2) * D**-0.5}


def one_head_of_another_base(head: int = 3) -> dict[str, Any]:
    rates = rotary.frequencies(D, 5e5)
    wrong = attention(rates=rates, keys=rotate(K_HEADS, rates))["logits"]
    right = attention()
    return {**right, "logits": np.where(np.arange(HEADS)[:, None, None] == head, wrong, right["logits"])}


def heads_from(head: int, changed: np.ndarray) -> dict[str, Any]:
    """Queries whose heads from this one on are others."""
    right = rotate(Q_HEADS)
    return queries(np.where(np.arange(HEADS)[:, None, None] >= head, changed, right), Q_HEADS)


def rows(wrong: np.ndarray, changed: np.ndarray, right: np.ndarray | None = None) -> dict[str, Any]:
    """Queries whose rows of this mask are others."""
    return queries(np.where(wrong[:, None], changed, rotate(Q) if right is None else right))


SECTIONS = (8, 12, 12)
BLOCKS = (0,) * 8 + (1,) * 12 + (2,) * 12
VISION = AxialRoPE(axis=BLOCKS, frequency_index=tuple(range(32)), frequency_dim=64, base=1e6, pairing="halves")
VISION_RATES = rotary.frequencies(64, 1e6)
ROWS, COLUMNS, TEXT = 9, 13, 5


def interleaved() -> list[int]:
    """t h w t h w ..., then time."""
    return [pair % 3 if pair < 3 * SECTIONS[pair % 3] else 0 for pair in range(32)]


def grid(transposed: bool = False, after: int = TEXT + COLUMNS) -> np.ndarray:
    """Text, a picture of 9 by 13, and text again from `after` on: time, height, width."""
    tokens = range(ROWS * COLUMNS)
    places = [(i % ROWS, i // ROWS) if transposed else (i // COLUMNS, i % COLUMNS) for i in tokens]
    text, rest = [[t] * 3 for t in range(TEXT)], [[after + t] * 3 for t in range(40)]
    return np.array(text + [[TEXT, TEXT + h, TEXT + w] for h, w in places] + rest)


IMAGE = rotary.drawn(len(grid()), 64, seed=4)
IMAGE_HEADS = rotary.drawn(HEADS, len(grid()), 64, seed=5)


def seen(axes: Any = BLOCKS, positions: np.ndarray | None = None, x: np.ndarray = IMAGE) -> np.ndarray:
    angle = (grid() if positions is None else positions)[:, list(axes)] * VISION_RATES
    return rotary.halves(x, np.cos(angle), np.sin(angle))


def on_grid(rotated: np.ndarray, x: np.ndarray = IMAGE) -> dict[str, Any]:
    return queries(rotated, x) | {"positions": grid()}


def tf32(values: Any) -> np.ndarray:
    """Float32 numbers with 10 bits behind the point, as tensor cores take them."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64) + 0x1000
    return (bits & 0xFFFFE000).astype(np.uint32).view(np.float32).astype(float)


FAR = np.concatenate([np.arange(40), np.arange(40, 8000, 31)])
FAR_Q = rotary.drawn(len(FAR), D, seed=6)


def far(rates: Any, positions: Any = FAR, factor: Any = 1.0) -> dict[str, Any]:
    cos, sin = rotary.waves(rates, positions)
    return {"cos": cos * factor, "sin": sin * factor, "positions": FAR}


def cached_unscaled() -> dict[str, Any]:
    """Keys of unscaled frequencies, with the factor of the scaling all the same."""
    q, k = (rotate(FAR_Q, rates, FAR, factor=FACTOR) for rates in (YARN_RATES, rotary.frequencies(D, 1e6)))
    return {"q": FAR_Q, "q_rotated": q, "k": FAR_Q, "k_rotated": k, "positions": FAR}


def without_exponent() -> np.ndarray:
    return rotary.frequencies(D, 1e4 * (2.0 * 512 / 128 - 1.0))


ORDER = np.arange(HEADS).reshape(2, -1).T.reshape(-1)
#: What is meant, what is there, the name of the mistake, and words of its place or sentence.
ONE: dict[str, tuple[Any, Any, str, str]] = {
    # kinds of dumps
    "probabilities of another base": (MEANT, probabilities(q=rotate(Q, rotary.frequencies(D, 5e5)),
        k=rotate(K, rotary.frequencies(D, 5e5))), "base", "500000"),
    "probabilities of another scale": (MEANT, probabilities(scale=1 / D), "scale of the logits", ""),
    "log-softmax of late queries": (MEANT, {"q": Q, "k": K, "logits":
        np.log(softmax(logits(q=rotate(Q, positions=P + 1))["logits"]))}, "off by one", "Queries"),
    "a fused cache of another base": (MEANT, {"cos_sin_cache":
        np.concatenate(rotary.waves(rotary.frequencies(D, 5e5), P), -1)}, "base", "500000"),
    "a window one too wide in the mask": (MISTRAL, logits() | {"logits": masked(logits()["logits"], 65)},
        "window", "64 positions before"),
    "a window in probabilities": (MISTRAL, probabilities(65), "window", "64 positions before"),
    "no window": (MISTRAL, logits() | {"logits": masked(logits()["logits"])}, "window", "all keys"),
    "a window where none is meant": (LLAMA, logits() | {"logits": masked(logits()["logits"], 64)}, "window", "63"),
    "one later key": (MISTRAL, logits() | {"logits": masked(logits()["logits"], 64, later=1)}, "causal mask", "1"),
    "probabilities without a mask": (LLAMA, {"q": Q, "k": K, "probabilities": softmax(logits()["logits"])},
        "causal mask", "behind them"),
    "the number of the head for the position": (MEANT, queries(np.stack([rotate(x, positions=np.full(130, head))
        for head, x in enumerate(Q_HEADS)]), Q_HEADS), "wrong axis", "head"),
    "a layer without positions that rotates": (NOPE, logits(), "NoPE layer rotated", ""),
    # a set of rows or heads
    "the factor from a row on": (YARN, rows(P >= 200, rotate(Q, YARN_RATES, factor=FACTOR), rotate(Q, YARN_RATES)),
        "attention factor ignored", "0 to 199"),
    "positions that repeat after 96": (MEANT, queries(rotate(Q, positions=P % 96)), "table repeats", "96"),
    "positions that repeat after 96, in logits": (MEANT,
        logits(rotate(Q, positions=P % 96), rotate(K, positions=P % 96)), "table repeats", "96"),
    "positions that stay at 110": (MEANT, queries(rotate(Q, positions=np.minimum(P, 110))), "table ends", "111"),
    "one head unrotated": (MEANT, heads_from(HEADS, Q_HEADS) | {"q_rotated":
        np.where(np.arange(HEADS)[:, None, None] == 5, Q_HEADS, rotate(Q_HEADS))}, "not rotated", "head 5"),
    "heads permuted": (MEANT, queries(rotate(Q_HEADS)[ORDER], Q_HEADS), "order of heads", "1 has that of head 8"),
    "the other pairing from head 8 on": (MEANT, heads_from(8, rotate(Q_HEADS, rotation=rotary.neighbours)),
        "layout", "heads 8 to 15"),
    "interleaved sections from head 8 on": (VISION, on_grid(np.where(np.arange(HEADS)[:, None, None] >= 8,
        seen(interleaved(), x=IMAGE_HEADS), seen(x=IMAGE_HEADS)), IMAGE_HEADS), "sections arranged otherwise",
        "heads 8 to 15"),
    "late rows from 200 on": (MEANT, queries(rotate(Q, positions=P + (P >= 200))), "positions", "200"),
    "the base of another layer every 48 rows": (MEANT, rows(P % 48 == 47, rotate(Q, rotary.frequencies(D, 5e5))),
        "base", "every 48 positions, from 47 on"),
    "one head of logits of another base": (MEANT, one_head_of_another_base(), "base", "head 3"),
    "every second row unrotated": (MEANT, rows(P % 2 == 1, Q), "not rotated", "every 2 positions, from 1 on"),
    "noise in a block of rows": (MEANT, rows((P >= 64) & (P < 128), K), "some differ", "positions 64 to 127"),
    "heads of queries permuted, in logits": (MEANT, {**attention(), "logits": rotate(Q_HEADS)[ORDER]
        @ np.repeat(rotate(K_HEADS), 4, 0).swapaxes(-1, -2) * D**-0.5}, "order of heads", "heads of queries"),
    "heads of keys tiled": (MEANT, causal(of_other_key_heads(), "probabilities"), "order of heads", "of keys"),
    # masked
    **{f"a ring buffer rolled, {form} of heads": (MEANT, causal(of_keys(np.roll(np.arange(130), 17)), form),
        "positions", "rolled by 17") for form in ("logits", "probabilities")},
    **{f"keys that begin again, {form} of heads": (MEANT, causal(of_keys(np.arange(130) % 81), form),
        "positions", "from position 81 on") for form in ("logits", "probabilities")},
    **{f"a base of six digits, {form} of heads": (MEANT, causal(of_base(612_345.0), form), "base", "6123")
        for form in ("logits", "probabilities")},
    "a base of six digits in logits of one head": (MEANT, logits(*(rotate(x, rotary.frequencies(D, 612_345.0))
        for x in (Q, K))), "base", "6123"),
    # one side
    "keys in the other layout": (MEANT, both(rotate(Q), rotate(K, rotation=rotary.neighbours)), "layout", "keys"),
    "keys in the other layout, in logits": (MEANT, logits(k=rotate(K, rotation=rotary.neighbours)), "layout", "keys"),
    "queries in blocks, keys interleaved": (VISION, {"q": IMAGE, "q_rotated": seen(), "k": IMAGE, "positions": grid(),
        "k_rotated": seen(interleaved())}, "sections arranged otherwise", "keys"),
    "keys unscaled, with the factor": (YARN, cached_unscaled(), "scaling ignored", "keys"),
    "a ring buffer rolled, probabilities of windows": (MISTRAL,
        probabilities(64, k=rotate(K, positions=np.roll(P, 17))), "positions", "rolled by 17"),
    "keys that begin again, probabilities of windows": (MISTRAL,
        probabilities(64, k=rotate(K, positions=np.where(P < 150, P, P - 150))), "positions", "Keys begin again"),
    "a ring buffer rolled, log-softmax of windows": (MISTRAL, {"q": Q, "k": K, "logits":
        log_softmax(masked(logits(k=rotate(K, positions=np.roll(P, 99)))["logits"], 64))}, "positions", "rolled by 99"),
    "a ring buffer rolled": (MEANT, both(rotate(Q), rotate(K, positions=np.roll(P, 17))), "positions", "17"),
    "a ring buffer rolled, in logits": (MEANT, logits(k=rotate(K, positions=np.roll(P, 17))), "positions", "17"),
    # grids
    "a transposed grid": (VISION, on_grid(seen(positions=grid(transposed=True))), "positions", "column by column"),
    "text counted by patches": (VISION, on_grid(seen(positions=grid(after=TEXT + ROWS * COLUMNS))), "positions", "104"),
    # numbers
    "half of the pairs standing still": (MEANT, queries(rotate(Q, RATES * (np.arange(32) < 16))),
        "pairs stand still", "32 of 64"),
    "products in TF32": (MEANT, far(tf32(RATES), tf32(FAR)), "products in TF32", "TF32"),
    "logits in TF32": (MEANT, logits(tf32(rotate(Q)), tf32(rotate(K))), "products in TF32", "TF32"),
    "a base of six digits": (MEANT, far(rotary.frequencies(D, 612_345.0)), "base", "612345"),
    "a base of NTK": (MEANT, far(rotary.frequencies(D, 1e4 * 3.3 ** (64 / 62))), "scaling added", "3.3"),
    "dynamic NTK without its exponent": (DYNAMIC, far(without_exponent()), "exponent of NTK", "64/62"),
}  # fmt: skip

HARMLESS: dict[str, tuple[Any, Any]] = {
    "logits of a layer without positions": (NOPE, logits(Q, K)),
    "probabilities of a layer without positions": (NOPE, probabilities(q=Q, k=K)),
    "probabilities of an encoder": (BERT_LIKE, {"q": Q, "k": K, "probabilities": softmax(logits()["logits"])}),
    "probabilities": (MEANT, probabilities()),
    "probabilities in float32": (MEANT, {**probabilities(), "probabilities":
        probabilities()["probabilities"].astype(np.float32)}),
    "probabilities in bfloat16": (MEANT, {**probabilities(), "probabilities":
        rotary.bfloat16(probabilities()["probabilities"]).astype(np.float32)}),
    "less the maximum of the row": (MEANT, {**logits(), "logits":
        logits()["logits"] - logits()["logits"].max(-1, keepdims=True)}),
    "less the maximum, masked": (MEANT, {**logits(), "logits":
        masked(logits()["logits"]) - masked(logits()["logits"]).max(-1, keepdims=True)}),
    "log-softmax": (MEANT, {**logits(), "logits": np.log(softmax(logits()["logits"]))}),
    "a window in the mask": (MISTRAL, {**logits(), "logits": masked(logits()["logits"], 64)}),
    "a window in the mask of large numbers": (MISTRAL,
        {**logits(), "logits": masked(logits()["logits"], 64, by=-3.4e38)}),
    "a window in probabilities": (MISTRAL, probabilities(64)),
    "a causal mask": (LLAMA, {**logits(), "logits": masked(logits()["logits"])}),
    "no mask": (MISTRAL, logits()),
    "a fused cache": (MEANT, {"cos_sin_cache": np.concatenate(rotary.waves(RATES, P), -1)}),
    "a fused cache, cos and sin in turn": (MEANT, {"cos_sin_cache": np.stack(rotary.waves(RATES, P), -1)}),
    "heads, tokens, channels": (MEANT, queries(rotate(Q_HEADS), Q_HEADS)),
    "tokens, heads, channels": (MEANT, queries(rotate(LONG_HEADS).swapaxes(0, 1), LONG_HEADS.swapaxes(0, 1))),
    "logits of many heads": (MEANT, attention()),
    "logits of many heads in a batch": (MEANT, {name: values[None] for name, values in attention().items()}),
}  # fmt: skip


@pytest.mark.parametrize("case", ONE)
def test_a_planted_mistake_is_named_with_its_place(case: str) -> None:
    meant, there, name, words = ONE[case]
    found = diagnose(meant, there)
    assert not found.agree
    assert [finding.name for finding in found.findings] == [name], str(found)
    (finding,) = found.findings
    assert words in f"{finding.where} {finding.sentence} {finding.fix}", str(found)


@pytest.mark.parametrize("case", HARMLESS)
def test_what_is_harmless_is_agreed_with(case: str) -> None:
    found = diagnose(*HARMLESS[case])
    assert found.agree, str(found)
    assert found.findings == ()


#: What no mistake explains, which every mistake and every pair of two is tried for.
UNKNOWN: dict[str, dict[str, Any]] = {
    "vectors": queries(rotate(Q_HEADS) + rotary.drawn(HEADS, 130, D, seed=7), Q_HEADS),
    "logits": attention(rates=RATES * (1.0 + 0.1 * np.sin(np.arange(32)))),
    "probabilities": causal(of_keys(np.random.default_rng(8).permutation(130)), "probabilities"),
    "cos and sin": far(RATES * (1.0 + 0.1 * np.sin(np.arange(32)))),
}


@pytest.mark.nightly
@pytest.mark.parametrize("case", UNKNOWN)
def test_what_no_mistake_explains_is_said_soon(case: str) -> None:
    with calls_at_most(8_000_000):
        found = diagnose(YARN, UNKNOWN[case])
    assert not found.agree, str(found)
    assert not found.findings, str(found)


@pytest.mark.parametrize(("base", "outcome"), [(1e4, "they agree"), (500.0, "the mistake is 'base'")])
def test_axes_that_may_be_either_are_not_guessed_where_that_decides(base: float, outcome: str) -> None:
    turned = rotate(Q_HEADS, rotary.frequencies(D, base))
    there = queries(turned.swapaxes(0, 1), Q_HEADS.swapaxes(0, 1))
    with pytest.raises(ValueError, match=f"^layout must say which axis .*, as .tokens, heads, dim. {outcome}. Give"):
        diagnose(MEANT, there)
    assert [one.name for one in diagnose(MEANT, there, layout="bthd").findings] == ["base"] * (base != 1e4)


def test_more_heads_than_tokens_need_a_layout_where_the_head_is_taken_for_the_position() -> None:
    turned = np.stack([rotate(x, positions=np.full(16, head)) for head, x in enumerate(MANY_HEADS)])
    with pytest.raises(ValueError, match=r"^layout must say which axis"):
        diagnose(MEANT, queries(turned, MANY_HEADS))
    (finding,) = diagnose(MEANT, queries(turned, MANY_HEADS), layout="bhtd").findings
    assert finding.name == "wrong axis"
    tokens_first = queries(rotate(MANY_HEADS).swapaxes(0, 1), MANY_HEADS.swapaxes(0, 1))
    assert "layout='bthd' reads them as" in diagnose(MEANT, tokens_first).notes[-1]


def test_heads_that_are_joined_are_refused() -> None:
    joined = (np.concatenate(list(x), -1) for x in (rotate(Q_HEADS), Q_HEADS))
    with pytest.raises(ValueError, match=r"^q and k must have an axis of heads; got shape \(130, .*layout='bthd'\.$"):
        diagnose(MEANT, queries(*joined))
