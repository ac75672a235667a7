"""Mistakes of biases, of added tables and of rotations with three coordinates, and the arrays that they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from diagnosis.blind_bank.architectures import BIASES, QWEN2_VL, SECTIONS, T5, TABLES
from diagnosis.blind_bank.formulas import Rotary, bfloat16, bucket, frequencies, slopes, softmax

LENGTH = 320
Planted = tuple[str, Any, dict[str, np.ndarray], dict[str, Any], tuple[str, ...]]

# Each gives slopes of a number of heads, or changes the bias that they give.
SLOPES: dict[str, tuple[Callable[[int], np.ndarray], tuple[str, ...]]] = {
    "slopes from exponent 0": (lambda heads: slopes(heads, first=0), ("slope",)),
    "half as steep": (lambda heads: slopes(heads, 4.0), ("slope", "steep")),
    "one sequence for every number of heads": (
        lambda heads: 2.0 ** (-8.0 * (np.arange(heads) + 1) / heads),
        ("slope",),
    ),
    "sign": (lambda heads: -slopes(heads), ("sign", "grow", "opposite")),
    "left out": (lambda heads: 0 * slopes(heads), ("left out", "no bias", "missing", "without", "not added")),
    "slopes of a shard, twice": (lambda heads: np.tile(slopes(heads // 2), 2), ("shard", "slope", "heads")),
    "heads the other way round": (lambda heads: slopes(heads)[::-1], ("order", "heads", "slope")),
    "head 2 with the slope of head 3": (lambda heads: slopes(heads)[[0, 1, 3, *range(3, heads)]], ("head 2", "slope")),
    "twice as strong": (lambda heads: 2 * slopes(heads), ("slope", "factor", "twice")),
    "over the root of the width": (lambda heads: slopes(heads) / np.sqrt(8), ("√", "root", "scale", "factor", "sqrt")),
    "slopes in bfloat16": (lambda heads: bfloat16(slopes(heads)), ("bfloat16", "16 bit", "16-bit", "narrow", "slope")),
}


def scores(bias: np.ndarray, width: int, evidence: str, scale: float | None = None) -> dict[str, np.ndarray]:
    """The bias itself, or the logits or causal probabilities that it gives with drawn queries and keys."""
    if evidence == "bias":
        return {"bias": bias.astype(np.float32)}
    heads, n, _ = bias.shape
    q, k = np.random.default_rng(1).standard_normal((2, heads, n, width)).astype(np.float32)
    logits = (q @ k.swapaxes(-1, -2)).astype(float) * (width**-0.5 if scale is None else scale) + bias
    if evidence == "logits":
        return {"q": q, "k": k, "logits": logits.astype(np.float32)}
    logits = np.where(np.tri(n, dtype=bool), logits, -np.inf)
    return {"q": q, "k": k, "probabilities": softmax(logits).astype(np.float32)}


def sloped(slope: np.ndarray, length: int = LENGTH) -> np.ndarray:
    far = np.arange(length) - np.arange(length)[:, None]
    return slope[:, None, None] * far


def alibi() -> Iterator[Planted]:
    evidence = ["bias", "logits", "probabilities"]
    for row, (name, config) in enumerate(BIASES.items()):
        heads = config.get("n_head") or config["n_heads"]
        for column, (mistake, (wrong, words)) in enumerate(SLOPES.items()):
            if np.array_equal(wrong(heads), slopes(heads)):  # whole powers in bfloat16, one sequence for 8 heads
                continue
            kind = evidence[(row + column) % 3]
            yield f"{name} / {mistake} / {kind}", config, scores(sloped(wrong(heads)), 8, kind), {}, words


def table_of(buckets: int = 32, heads: int = 4) -> np.ndarray:
    return np.random.default_rng(2).standard_normal((buckets, heads)).astype(np.float32)


def t5_bias(both: bool, buckets: int = 32, reach: int = 128, shift: int = 0, swap: bool = False) -> np.ndarray:
    far = np.arange(LENGTH) - np.arange(LENGTH)[:, None] + shift
    chosen = bucket(-far if swap else far, buckets, reach, both)
    return table_of()[chosen].transpose(2, 0, 1)


T5_MISTAKES: dict[str, tuple[Callable[[bool], np.ndarray], tuple[str, ...]]] = {
    "other direction": (lambda both: t5_bias(not both), ("direction", "bidirectional", "both")),
    "reach 64": (lambda both: t5_bias(both, reach=64), ("reach", "distance")),
    "half the buckets": (lambda both: t5_bias(both, buckets=16), ("bucket",)),
    "key for query": (lambda both: t5_bias(both, swap=True), ("query", "sign", "direction", "exchang")),
    "distance one off": (lambda both: t5_bias(both, shift=1), ("one",)),
    "over the root of the width": (lambda both: t5_bias(both) / 4, ("√", "root", "scale", "factor", "sqrt")),
    "left out": (lambda both: 0 * t5_bias(both), ("left out", "no bias", "missing", "without", "not added")),
    "heads the other way round": (lambda both: t5_bias(both)[::-1], ("order", "head")),
}


def t5() -> Iterator[Planted]:
    for row, (part, both) in enumerate([("encoder", True), ("decoder", False)]):
        for column, (mistake, (wrong, words)) in enumerate(T5_MISTAKES.items()):
            kind = ["bias", "logits"][(row + column) % 2]
            given = scores(wrong(both), 16, kind, scale=1.0) | {"table": table_of()}
            yield f"t5 {part} / {mistake} / {kind}", T5, given, {"part": part}, words
        given = scores(t5_bias(both), 16, "logits", scale=0.25) | {"table": table_of()}
        yield f"t5 {part} / scaled by 1/√d / logits", T5, given, {"part": part}, ("scale", "root", "√", "sqrt")


Rows = Callable[[np.ndarray, int], np.ndarray]
ADDED: dict[str, tuple[Rows, tuple[str, ...]]] = {
    "one row late": (lambda p, first: p + first + 1, ("one", "offset")),
    "offset forgotten": (lambda p, first: p, ("offset", "row")),
    "starts again at 256": (lambda p, first: p % 256 + first, ("repeat", "again", "start", "256")),
    "ends at row 99": (lambda p, first: np.minimum(p, 99) + first, ("end", "last", "repeat", "stop", "99", "100")),
    "positions of every token 0": (lambda p, first: 0 * p + first, ("0", "position", "same")),
    "positions in bfloat16": (lambda p, first: bfloat16(p).astype(int) + first, ("bfloat16", "16 bit", "narrow")),
}  # fmt: skip


CHECKPOINT = {
    "gpt2": "transformer.wpe.weight",
    "opt": "model.decoder.embed_positions.weight",
    "bert": "bert.embeddings.position_embeddings.weight",
    "roberta": "roberta.embeddings.position_embeddings.weight",
}


def added() -> Iterator[Planted]:
    rng = np.random.default_rng(3)
    for name, (config, first) in TABLES.items():
        width = config.get("n_embd") or config["hidden_size"]
        rows = config.get("n_positions") or config["max_position_embeddings"] + (first if name == "opt" else 0)
        table = rng.standard_normal((rows, width)).astype(np.float32)
        embeddings = rng.standard_normal((LENGTH, width)).astype(np.float32)
        for mistake, (wrong, words) in ADDED.items():
            chosen = wrong(np.arange(LENGTH), first)
            if np.array_equal(chosen, np.arange(LENGTH) + first):
                continue
            given = {"embeddings": embeddings, "hidden_states": embeddings + table[chosen], "table": table}
            yield f"{name} / {mistake} / hidden states", config, given, {}, words
        right = table[np.arange(LENGTH) + first]
        given = {"embeddings": embeddings, "table": table}
        for mistake, states, words in [
            ("table added twice", embeddings + 2 * right, ("twice", "factor", "scale")),
            ("table never added", embeddings, ("not added", "never", "left out", "missing", "no ")),
        ]:
            yield f"{name} / {mistake} / hidden states", config, given | {"hidden_states": states}, {}, words
        cut = {CHECKPOINT[name]: table[: rows - 32]}
        yield f"{name} / table cut by 32 rows / checkpoint", config, cut, {}, ("row", "length", "cut", "short")


def media_positions() -> np.ndarray:
    """20 tokens of text, an image of 6 by 10, 40 tokens of text: the rule of Qwen2-VL (2409.12191)."""
    text, (h, w) = np.arange(20), (6, 10)
    image = np.stack([np.full(h * w, 20), 20 + np.repeat(np.arange(h), w), 20 + np.tile(np.arange(w), h)])
    after = 20 + max(h, w) + np.arange(40)
    return np.concatenate([np.tile(text, (3, 1)), image, np.tile(after, (3, 1))], 1)


def counted_by_patches(positions: np.ndarray) -> np.ndarray:
    return np.concatenate([positions[:, :80], np.tile(80 + np.arange(40), (3, 1))], 1)


def column_by_column(positions: np.ndarray) -> np.ndarray:
    found = positions.copy()
    found[1, 20:80], found[2, 20:80] = 20 + np.tile(np.arange(6), 10), 20 + np.repeat(np.arange(10), 6)
    return found


def plain(positions: np.ndarray) -> np.ndarray:
    return np.tile(np.arange(positions.shape[1]), (3, 1))


def without(axis: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda positions: np.where(np.arange(3)[:, None] == axis, positions[:1], positions)


IN_BLOCKS = np.repeat(np.arange(3), SECTIONS)
STRIDED = np.array([0 if i >= 3 * 6 or i % 3 == 0 else i % 3 for i in range(16)])
Turned = tuple[np.ndarray, Callable[[np.ndarray], np.ndarray], tuple[str, ...]]
MEDIA: dict[str, Turned] = {
    "height and width exchanged": (IN_BLOCKS, lambda p: p[[0, 2, 1]], ("height", "width", "axes", "axis")),
    "sections the other way round": (np.repeat(np.arange(3), SECTIONS[::-1]), lambda p: p, ("section",)),
    "sections interleaved": (STRIDED, lambda p: p, ("interleav", "section")),
    "height never counted": (IN_BLOCKS, without(1), ("axis", "height", "still", "coordinate")),
    "time for every axis": (IN_BLOCKS, lambda p: p[[0, 0, 0]], ("axis", "axes", "coordinate", "time")),
    "text after the image counted by patches": (IN_BLOCKS, counted_by_patches, ("patch", "after", "position")),
    "image counted column by column": (IN_BLOCKS, column_by_column, ("column", "transpos", "height", "axes", "axis")),
    "plain counting": (IN_BLOCKS, plain, ("position", "count", "axis", "axes")),
}  # fmt: skip


def media_arrays(axis_of: np.ndarray, positions: np.ndarray, base: float = 1e6) -> dict[str, np.ndarray]:
    """Queries and keys, each pair of channels rotated by its own coordinate; halves are paired."""
    angles = positions[axis_of].T * frequencies(Rotary(32, base))
    x = np.random.default_rng(4).standard_normal((2, 4, positions.shape[1], 32)).astype(np.float32)
    first, second, cos, sin = x[..., :16], x[..., 16:], np.cos(angles), np.sin(angles)
    turned = np.concatenate([first * cos - second * sin, second * cos + first * sin], -1).astype(np.float32)
    return {"q": x[0], "q_rotated": turned[0], "k": x[1], "k_rotated": turned[1], "positions": media_positions().T}


def media() -> Iterator[Planted]:
    for mistake, (axis_of, change, words) in MEDIA.items():
        yield (
            f"qwen2_vl / {mistake} / q and q_rotated",
            QWEN2_VL,
            media_arrays(axis_of, change(media_positions())),
            {},
            words,
        )
    other = media_arrays(IN_BLOCKS, media_positions(), 1e4)
    yield "qwen2_vl / another base / q and q_rotated", QWEN2_VL, other, {}, ("base",)
    other = other | {"positions": media_positions()}  # as the guide of symptoms says
    yield "qwen2_vl / another base / q and q_rotated, positions (3, tokens)", QWEN2_VL, other, {}, ("base",)
