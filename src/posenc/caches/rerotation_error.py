"""Error of cached keys after repeated rerotation, measured against float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from posenc.caches.key_cache import KeyCache, check_rotates_keys, key_cache
from posenc.caches.rerotation import rerotated, shifted_keys
from posenc.core import arrays, validation
from posenc.core.doors import RotaryEncoding


@dataclass(frozen=True)
class RerotationError:
    """Error of keys relative to their length, of the worst key and in the root mean square.

    Attributes:
        shifts: How many times the cache was shifted.
        dtype: Type of the cached keys.
        repeated: Largest error where every shift rotates and rounds the cached keys.
        repeated_rms: The same in the root mean square.
        once: Largest error where the last shift rotates keys from their first positions, in one rounding.
        unrotated: Largest error where keys are kept as they are and rotated when they are read.
    """

    shifts: int
    dtype: str
    repeated: float
    repeated_rms: float
    once: float
    unrotated: float


def rerotation_error(
    encoding: RotaryEncoding,
    *,
    dtype: torch.dtype,
    shifts: Sequence[int],
    by: int,
    tokens: int = 256,
    start: int = 0,
    seed: int = 0,
) -> list[RerotationError]:
    """Measure the error of keys after shifts of a cache, against the exact rotation of the exact keys.

    Keys are normal numbers, rounded to `dtype` before anything, so that only the rotations count.

    Args:
        encoding: An encoding that rotates keys and learns nothing.
        dtype: Of the cached keys.
        shifts: Numbers of shifts, rising.
        by: Positions of one shift; below 0 to move to the front.
        tokens: Number of keys.
        start: First position.
        seed: Seed of the keys.

    Returns:
        An error for each number of shifts.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: A number is out of range, shifts do not rise, or a token would come below position 0.

    Example:
        >>> from posenc import RoPE
        >>> error, = rerotation_error(RoPE(dim=64), dtype=torch.float32, shifts=[8], by=100)
        >>> error.unrotated <= error.repeated < 1e-6
        True
    """
    check_rotates_keys(encoding)
    counts = validation.integers("shifts", shifts, 0, 1 << 20)
    if counts != sorted(set(counts)) or not counts:
        raise ValueError(f"shifts must rise and hold one number at least; got {counts}. Give [1, 10, 100], say.")
    validation.instance("dtype", dtype, torch.dtype, "a floating dtype of torch, torch.bfloat16, say")
    tokens, start = validation.integer("tokens", tokens, 1, 1 << 20), validation.integer("start", start, 0, 2**52)
    draw = torch.Generator().manual_seed(validation.integer("seed", seed, 0, 2**63 - 1))
    k = torch.randn(1, 1, tokens, encoding.head_dim, generator=draw)
    k = k.to(arrays.library(k).result_dtype(dtype))
    at = torch.arange(start, start + tokens)
    made: dict[str, Any] = {"encodings": [encoding], "layout": "bhtd", "rotated": True}
    first = cache = key_cache(k, k, key_positions=at, **made)
    found, done = [], 0
    for count in counts:
        for _ in range(count - done):
            cache = shifted_keys(cache, by, encodings=[encoding])
        done = count
        exact = key_cache(k.double(), k.double(), key_positions=at + count * by, **made)
        once = rerotated(first, encodings=[encoding], key_positions=at + count * by)
        late = key_cache(k, k, key_positions=at + count * by, **made)
        largest, rms = _errors(cache, exact)
        name = str(k.dtype).removeprefix("torch.")
        found.append(RerotationError(count, name, largest, rms, _errors(once, exact)[0], _errors(late, exact)[0]))
    return found


def _errors(cache: KeyCache, exact: KeyCache) -> tuple[float, float]:
    """Largest error of a key relative to its length, and the root mean square."""
    error: Tensor = (cache.k.double() - exact.k).norm(dim=-1) / exact.k.norm(dim=-1)
    return float(error.max()), float(error.square().mean().sqrt())
