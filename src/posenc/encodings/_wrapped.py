"""What a record asks of the record that it wraps: parameters under names of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from posenc import _check
from posenc._array import Array
from posenc.checked_positions import Positions
from posenc.doors import Biases, Claim, Params

#: What a bias may claim that still holds when content decides how much of it counts.
KEPT: frozenset[Claim] = frozenset({"relative", "streaming", "bounded", "unlimited", "fractional", "symmetric"})


def biasing(encoding: Biases) -> Biases:
    """The record, if it biases."""
    record: Biases = _check.instance("encoding", encoding, Biases, "a record that biases")
    return record


def claims(encoding: Biases) -> frozenset[Claim]:
    """What a learned score made of this bias may claim."""
    return (encoding.claims & KEPT) | {"learned"}


def shapes(encoding: Biases) -> dict[str, tuple[int, ...]]:
    """The shapes of the record, named "encoding.name"."""
    return {f"encoding.{name}": shape for name, shape in encoding.shapes.items()}


def drawn(encoding: Biases, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The first parameters of the record, named "encoding.name"."""
    return {f"encoding.{name}": value for name, value in encoding.init(rng).items()}


def matrix(encoding: Biases, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
    """The bias of every head and pair of places, (*batch, heads, n, m)."""
    inner = {name.removeprefix("encoding."): value for name, value in learned.items() if name.startswith("encoding.")}
    return encoding.matrix(query.array, key.array, inner or None, dtype=dtype)
