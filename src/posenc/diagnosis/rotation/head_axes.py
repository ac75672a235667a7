"""Axes of dumped vectors: batch, heads, tokens and channels, in the order that a layout says."""

from __future__ import annotations

import numpy as np

#: Where heads and tokens stand among the axes before the channels, by layout.
LAYOUTS = ("bhtd", "bthd")


def with_all_axes(name: str, x: np.ndarray, layout: str | None) -> np.ndarray:
    """Vectors as (batch, heads, tokens, dim).

    Args:
        name: Name of the array, for errors.
        x: Vectors (tokens, dim), with heads (three axes), or with a batch and heads (four).
        layout: "bhtd" or "bthd"; three axes without one are (heads, tokens, dim).

    Raises:
        ValueError: Four axes come without a layout, or there are fewer than two axes or more than four.
    """
    if x.ndim == 2:
        return x[None, None]
    if x.ndim not in (3, 4) or ((x.ndim == 4 or layout is not None) and layout not in LAYOUTS):
        raise ValueError(
            f"layout must be 'bhtd' or 'bthd' for {name} with heads, four axes; got {layout!r} for shape {x.shape}. "
            "Say which axis is which."
        )
    whole = x if x.ndim == 4 else x[None]
    return whole.swapaxes(1, 2) if layout == "bthd" else whole


def of_logits(name: str, x: np.ndarray, tokens: int, layout: str | None) -> np.ndarray:
    """Arrange vectors of one batch row as (heads, tokens, dim); the number of tokens shows which axis is theirs.

    Raises:
        ValueError: No axis has that many tokens, or there is more than one row of the batch.
    """
    one = x[0] if x.ndim == 4 and len(x) == 1 else x
    one = one[None] if one.ndim == 2 else one
    if one.ndim == 3 and (layout == "bthd" or one.shape[1] != tokens) and len(one) == tokens:
        one = one.swapaxes(0, 1)
    if one.ndim != 3 or one.shape[1] != tokens:
        raise ValueError(
            f"logits must have shape (heads, n, m) for q (heads, n, dim) and k (heads, m, dim); got {tokens} tokens "
            f"for {name} of shape {x.shape}. Give one row of the batch, and the vectors of these logits."
        )
    return one


def for_each_head(k: np.ndarray, heads: int) -> np.ndarray:
    """Repeat keys (key heads, m, dim) for every query head that shares them, as in grouped-query attention.

    Raises:
        ValueError: The query heads are no multiple of the key heads.
    """
    if heads % len(k):
        raise ValueError(
            f"k must have heads of which {heads} query heads are a multiple; got {len(k)}. Give the keys of all heads."
        )
    return np.repeat(k, heads // len(k), axis=0)
