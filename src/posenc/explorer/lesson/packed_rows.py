"""Packed rows and KV caches: position ids that restart, and how wrong ids change outputs and attention.

One layer of attention with random weights reads three documents in one row. For each encoding its outputs for the last
document are compared with those for that document alone. A head that looks two tokens back reads a cache whose ids are
right, or wrong in one of four ways.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding, RotaryEncoding
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.lesson.rounded import rounded
from posenc.positions import packed

LENGTHS = (4, 3, 5)
WIDTH = 16
SEED = 4
#: What the documents are read with.
ENCODINGS: tuple[tuple[str, Encoding], ...] = (
    ("sinusoidal", Sinusoidal(dim=WIDTH)),
    ("rotary", RoPE(dim=WIDTH)),
    ("ALiBi", ALiBi(heads=1)),
)


def packed_rows() -> dict[str, Any]:
    """Measure output changes by packing, with restarted or running ids, masked or open; and attention over caches."""
    return {
        "lengths": LENGTHS,
        "cases": {
            f"{'restart' if restart else 'on'}/{'mask' if mask else 'open'}": {
                name: rounded(_difference(encoding, restart=restart, mask=mask)) for name, encoding in ENCODINGS
            }
            for restart in (True, False)
            for mask in (True, False)
        },
        "caches": [_cached(case) for case in CACHES],
    }


def _difference(encoding: Encoding, *, restart: bool, mask: bool) -> float:
    """Largest difference of the last document's outputs in the row from those of the document alone."""
    x = np.random.default_rng(SEED).standard_normal((sum(LENGTHS), WIDTH))
    owners = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    positions = np.asarray(packed(LENGTHS)) if restart else np.arange(len(x))
    visible = np.tril(np.ones((len(x), len(x)), dtype=bool))
    if mask:
        visible &= owners[:, None] == owners
    last = owners == owners[-1]
    count = int(last.sum())
    alone = _attention(encoding, x[last], np.arange(count), np.tril(np.ones((count, count), dtype=bool)))
    return float(np.abs(_attention(encoding, x, positions, visible)[last] - alone).max())


def _attention(encoding: Encoding, x: np.ndarray, positions: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Attend in one head: softmax(q·k/√d + bias)·v over the keys that are visible, with one encoding."""
    matrices = np.random.default_rng(SEED + 1).standard_normal((3, WIDTH, WIDTH)) / np.sqrt(WIDTH)
    if isinstance(encoding, AdditiveEncoding):
        x = x + np.asarray(encoding.embed(positions))
    q, k, v = (x @ matrix for matrix in matrices)
    if isinstance(encoding, RotaryEncoding):
        rotation = encoding.rotation(positions, dtype=np.float64)
        q, k = np.asarray(rotation(q)), np.asarray(rotation(k))
    logits = q @ k.T / np.sqrt(WIDTH)
    if isinstance(encoding, AttentionBias):
        logits = logits + np.asarray(encoding.matrix(positions, positions))[0]
    return np.asarray(_softmax(np.where(visible, logits, -np.inf)) @ v)


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True))


class Cached(NamedTuple):
    """A KV cache: position ids of its keys, the id of the new query, and an explanation of how they came about."""

    name: str
    why: str
    keys: tuple[int, ...]
    query: int


#: Keys that stand in the cache, and how far back the head looks.
KEYS, BACK = 10, 2
CACHES = (
    Cached(
        "ids as they should be",
        "Ten keys were rotated by 0 to 9 as they came; the new query is rotated by 10. Two back is the key of id 8.",
        tuple(range(KEYS)),
        KEYS,
    ),
    Cached(
        "query counts from 0",
        "The decoding step passes one token and makes its id from the length of what it was given: 0. Every key lies "
        "ahead of it, and the head takes the first.",
        tuple(range(KEYS)),
        0,
    ),
    Cached(
        "padding counted once",
        "The keys count no pads, the query counts the three on the left. It looks three too far.",
        tuple(range(KEYS)),
        KEYS + 3,
    ),
    Cached(
        "oldest keys dropped, query renumbered",
        "The cache was full, three keys were dropped, and the query counts the rest: 7. The keys are still rotated by "
        "3 to 9. Rotate them again, or let the ids run on.",
        tuple(range(3, KEYS)),
        KEYS - 3,
    ),
    Cached(
        "oldest keys dropped, ids run on",
        "The same cache, and the query is 10, as if nothing had been dropped. Only differences count; they are right.",
        tuple(range(3, KEYS)),
        KEYS,
    ),
)
#: The head of the caches: its rotation, and how sharply it decides.
HEAD, SHARPNESS = RoPE(dim=32, base=500.0), 0.7


def _cached(case: Cached) -> dict[str, Any]:
    """Attention weights over the keys of a cache, in a head that should look `BACK` tokens back, for the page."""
    start = np.tile([1.0, 0.0], HEAD.dim // 2)
    back = np.asarray(HEAD.rotation([-BACK], dtype=np.float64)(start[None]))
    q = np.asarray(HEAD.rotation([case.query], dtype=np.float64)(back))
    k = np.asarray(HEAD.rotation(list(case.keys), dtype=np.float64)(np.tile(start, (len(case.keys), 1))))
    weights = _softmax(SHARPNESS * (q @ k.T))[0]
    return {
        "name": case.name,
        "why": case.why,
        "keys": case.keys,
        "query": case.query,
        "weights": rounded(weights),
        "right": len(case.keys) - BACK,
    }
