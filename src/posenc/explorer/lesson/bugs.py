"""Break it yourself: one head that looks k tokens back, under each famous bug, and the verdict of the doctor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc.diagnosis import diagnose
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.lesson.rounded import rounded
from posenc.frequencies import DynamicNTK
from posenc.inspect.rounding import narrowed

#: Rotary encoding that the head is built for: base and layout of Llama 3, stretched to four times its length.
RIGHT = RoPE(dim=64, base=500_000.0, pairing="halves", scaling=DynamicNTK(factor=4.0, original=8192, length=32_768))
#: How far back the head looks, from the short text that a test tries to the long one that a user reads.
DISTANCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
#: Keys on both sides of the right one that are drawn; the query stands at twice its distance and so many more.
AROUND, MORE = 12, 45
#: How sharply the head decides; with it the right key has nearly all the weight at every distance.
SHARPNESS = 5.0


@dataclass(frozen=True)
class Bug:
    """A bug that a switch of the page turns on.

    Attributes:
        name: Name of the switch.
        why: Cause and effect, in words.
        query: Rotary encoding that queries are rotated with in place of the right one.
        key: The same for keys.
        shift: Number added to the positions of queries.
        half: Whether positions are rounded to bfloat16.
        since: Length of the shortest text that is touched.
    """

    name: str
    why: str
    query: RoPE = RIGHT
    key: RoPE = RIGHT
    shift: int = 0
    half: bool = False
    since: int = 0

    def positions(self, true: np.ndarray, *, query: bool) -> np.ndarray:
        """Positions that the broken code rotates by."""
        moved = true + (self.shift if query else 0)
        return narrowed(moved, "bfloat16").astype(np.int64) if self.half else moved


OTHER_LAYOUT = replace(RIGHT, pairing="adjacent")
OTHER_BASE = replace(RIGHT, base=10_000.0)
UNSCALED = replace(RIGHT, scaling=None)
BUGS = (
    Bug("nothing broken", "Queries and keys turn as the head was built for: it finds its word at every distance."),
    Bug(
        "wrong pair layout",
        "The weights pair channel i with i + d/2, the code pairs neighbours. Every channel rotates at another "
        "channel's frequency. This one does not wait for long texts: the head misses from the first neighbour on.",
        OTHER_LAYOUT,
        OTHER_LAYOUT,
    ),
    Bug(
        "base lost",
        "rope_theta was not read, so the default of 10,000 stands in for 500,000. The fast pairs hardly differ, so "
        "neighbours are still found; the others turn too fast, and the farther the word, the more it shows.",
        OTHER_BASE,
        OTHER_BASE,
    ),
    Bug(
        "positions in bf16",
        "A cast of the whole model took the positions along. bfloat16 holds eight bits: every number up to 256, then "
        "every second one, then every fourth. The code that made them looks right, and up to 256 it is.",
        half=True,
    ),
    Bug(
        "scaling dropped",
        "The file slows the pairs down for long texts (rope_scaling), the code ignores it. The fastest pair stays, so "
        "words nearby are found; those far away are not.",
        UNSCALED,
        UNSCALED,
    ),
    Bug(
        "off by one",
        "Queries count from 1, keys from 0. This one spares no length: the head looks at the neighbour everywhere. "
        "It is the kindest of the six: the first test sees it.",
        shift=1,
    ),
    Bug(
        "cached keys under another factor",
        "The text passed 1,000 tokens, and the scaling was switched on. New queries turn by it, the keys in the cache "
        "have rotated without it, and nobody turns them again.",
        key=UNSCALED,
        since=1000,
    ),
)


def broken(bug: Bug) -> dict[str, Any]:
    """Weight on the right word by distance, weights around it, and the doctor's words, for the page."""
    rows = [_weights(bug, distance) for distance in DISTANCES]
    return {
        "name": bug.name,
        "why": bug.why,
        "right": [rounded(float(row[AROUND])) for row in rows],
        "around": [[None if np.isnan(value) else rounded(float(value)) for value in row] for row in rows],
        "doctor": doctor(bug),
    }


def doctor(bug: Bug) -> list[str]:
    """Lines of `posenc doctor`: of two encodings where a config shows the bug, else of captured queries and keys."""
    if bug == BUGS[0]:
        return diagnose(RIGHT, RIGHT).lines()
    if bug.query != RIGHT:
        return diagnose(RIGHT, bug.query).lines()
    return diagnose(RIGHT, captured(bug)).lines()


def captured(bug: Bug, count: int = 40) -> Mapping[str, np.ndarray]:
    """Queries and keys before rotation at positions up to 16,000, and the broken code's logits after rotation."""
    rng = np.random.default_rng(0)
    q, k = rng.standard_normal((2, count, RIGHT.head_dim))
    positions = np.unique(np.geomspace(1, 16_000, count).astype(np.int64) | 1)
    q, k = q[: len(positions)], k[: len(positions)]
    rotated_q, rotated_k = (
        _rotated(bug, q, positions, query=True),
        _rotated(bug, k, positions, query=False),
    )
    return {"q": q, "k": k, "positions": positions, "logits": rotated_q @ rotated_k.T / RIGHT.head_dim**0.5}


def _rotated(bug: Bug, vectors: np.ndarray, positions: np.ndarray, *, query: bool) -> np.ndarray:
    encoding = bug.query if query else bug.key
    rotation = encoding.rotation(bug.positions(positions, query=query), dtype=np.float64)
    return np.asarray(rotation(vectors))


def _weights(bug: Bug, distance: int) -> np.ndarray:
    """Attention weights on the keys around `distance` back, (2·AROUND+1,), farthest first; NaN outside the text."""
    keys = np.arange(2 * distance + MORE + 1)
    bug = bug if len(keys) > bug.since else BUGS[0]
    query = keys[-1:]
    start = np.zeros(RIGHT.head_dim)
    start[: RIGHT.head_dim // 2] = 1.0
    # The query holds the rotation back by `distance`: what training would have to find is written down here.
    back = RIGHT.rotation([distance], dtype=np.float64)
    content = np.concatenate([np.asarray(back.cos)[0], -np.asarray(back.sin)[0]])
    q = _rotated(bug, content[None], query, query=True)
    k = _rotated(bug, np.tile(start, (len(keys), 1)), keys, query=False)
    logits = SHARPNESS * (q @ k.T)[0]
    weights = np.exp(logits - logits.max())
    weights /= weights.sum()
    window = int(query[0]) - distance + np.arange(-AROUND, AROUND + 1)
    inside = (window >= 0) & (window < len(keys))
    return np.where(inside, weights[np.clip(window, 0, len(keys) - 1)], np.nan)
