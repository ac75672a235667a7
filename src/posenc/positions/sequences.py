"""Positions of tokens in a sequence, a padded batch, a pack of documents and a decoding step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import check_range, checked

LONGEST = 1 << 30


def span(length: int, *, start: int = 0) -> np.ndarray:
    """Consecutive positions start, start+1, …, start+length-1.

    Args:
        length: Number of tokens.
        start: First position.

    Returns:
        (length,), int64.

    Raises:
        TypeError: An argument is no whole number.
        ValueError: A number is out of range.

    Example:
        >>> span(3, start=5).tolist()
        [5, 6, 7]
    """
    length = validation.integer("length", length, 0, LONGEST)
    start = validation.integer("start", start, -(2**53), 2**53 - LONGEST)
    return np.arange(start, start + length, dtype=np.int64)


def from_mask(mask: Array) -> Array:
    """Positions of a padded batch: tokens count from 0 in each row, wherever the padding stands.

    Padding goes on behind the tokens, so that no token comes after it. A mask still has to hide padding from attention;
    its positions only make scores that count the keys in between leave it out.

    Args:
        mask: (*batch, n), true or 1 for tokens.

    Returns:
        Integers of the same shape, each of 0 to n - 1 once a row.

    Raises:
        TypeError: `mask` is neither an array nor a list.
        ValueError: `mask` holds other numbers than 0 and 1.

    Example:
        >>> from_mask([[0, 0, 1, 1], [1, 1, 1, 0]]).tolist()
        [[2, 3, 0, 1], [0, 1, 2, 3]]
    """
    real = arrays.as_mask("mask", mask)
    lib = arrays.library(real)
    tokens = lib.astype(real, lib.integer)
    before, padding = lib.xp.cumsum(tokens, -1), lib.xp.cumsum(1 - tokens, -1)
    return lib.xp.where(real, before - 1, before[..., -1:] + padding - 1)


def packed(lengths: Sequence[int] | Sequence[Sequence[int]], *, tokens: int | None = None) -> np.ndarray:
    """Positions of documents packed into one row, or into each row of a batch: each document starts again at 0.

    Args:
        lengths: Number of tokens of each document; or of each document of each row, with the same sum in every row.
        tokens: Number of tokens of a row, which the lengths must sum to; None to take their sum.

    Returns:
        (tokens,) or (rows, tokens), int64.

    Raises:
        TypeError: `lengths` is no list of whole numbers.
        ValueError: A length is out of range, or rows do not sum to `tokens`.

    Example:
        >>> packed([3, 2]).tolist()
        [0, 1, 2, 0, 1]
        >>> packed([[3, 1], [4]], tokens=4).tolist()
        [[0, 1, 2, 0], [0, 1, 2, 3]]
    """
    counts, rows = _lengths(lengths, tokens)
    counts = counts[counts > 0]
    steps = np.ones(counts.sum(), np.int64)
    if len(counts):  # each token is one behind the last, but the first of a document goes back to 0
        steps[0] = 0
        steps[np.cumsum(counts)[:-1]] -= counts[:-1]
    return np.cumsum(steps, out=steps).reshape(_shape(rows, len(steps)))


def documents(lengths: Sequence[int] | Sequence[Sequence[int]], *, tokens: int | None = None) -> np.ndarray:
    """Number the document of each token of a packed row, or of each row of a batch, from 0.

    Args:
        lengths: As for `packed`.
        tokens: As for `packed`.

    Returns:
        (tokens,) or (rows, tokens), int64.

    Raises:
        TypeError: `lengths` is no list of whole numbers.
        ValueError: A length is out of range, or rows do not sum to `tokens`.

    Example:
        >>> documents([3, 2]).tolist()
        [0, 0, 0, 1, 1]
        >>> documents([[3, 1], [4]]).tolist()
        [[0, 0, 0, 1], [0, 0, 0, 0]]
    """
    counts, rows = _lengths(lengths, tokens)
    each = [len(counts)] if rows is None else [len(row) for row in lengths]  # type: ignore[arg-type]
    numbers = np.concatenate([np.arange(count) for count in each]) if each else np.empty(0, np.int64)
    counts, numbers = counts[counts > 0], numbers[counts > 0]
    steps = np.zeros(counts.sum(), np.int64)
    if len(counts):
        steps[0] = numbers[0]
        steps[np.cumsum(counts)[:-1]] = np.diff(numbers)
    return np.cumsum(steps, out=steps).reshape(_shape(rows, len(steps)))


def boundaries(lengths: Sequence[int]) -> np.ndarray:
    """First token of each document of a packed row, and the token behind the last, as `cu_seqlens` of kernels.

    Args:
        lengths: Number of tokens of each document.

    Returns:
        (documents + 1,), int32, from 0 to the number of tokens.

    Raises:
        TypeError: `lengths` is no list of whole numbers.
        ValueError: A length is out of range.

    Example:
        >>> boundaries([3, 2]).tolist()
        [0, 3, 5]
    """
    counts, rows = _lengths(lengths, None)
    if rows is not None:
        raise TypeError(f"lengths must be those of one row; got {rows} rows. Join them: sum(lengths, []).")
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def lengths_between(boundaries: Array, *, tokens: int) -> list[int]:
    """Lengths of documents from their boundaries (`cu_seqlens`), which must cover every token once.

    Args:
        boundaries: (documents + 1,), from 0 to `tokens`, none below the one before.
        tokens: Number of tokens of the row.

    Returns:
        Lengths, as `packed` and `documents` take them.

    Raises:
        TypeError: An argument holds no whole numbers.
        ValueError: Documents overlap, or the boundaries do not go from 0 to `tokens`.

    Example:
        >>> lengths_between([0, 3, 5], tokens=5)
        [3, 2]
    """
    tokens = validation.integer("tokens", tokens, 0, LONGEST)
    edges = validation.integers("boundaries", boundaries, 0, LONGEST)
    if not edges or edges[0] != 0 or edges[-1] != tokens:
        ends = f"{edges[0]} to {edges[-1]}" if edges else "none"
        raise ValueError(f"boundaries must go from 0 to the {tokens} tokens; got {ends}. Give cu_seqlens of the row.")
    counts = np.diff(edges).tolist()
    for edge, count in zip(edges, counts, strict=False):
        if count < 0:
            raise ValueError(
                f"boundaries must not fall, or documents overlap; got {edge + count} behind {edge}. Sort them."
            )
    return counts


def _lengths(lengths: Any, tokens: int | None) -> tuple[np.ndarray, int | None]:
    """Lengths of documents one after the other, and the number of rows, None for a row by itself."""
    nested = isinstance(lengths, list | tuple) and len(lengths) > 0 and hasattr(lengths[0], "__len__")
    rows = lengths if nested else [lengths]
    if nested and all(type(row) is list for row in rows):
        counts = _counts([*chain.from_iterable(rows)])
        ends = np.concatenate([[0], np.cumsum(counts)])
        sums = np.diff(ends[np.cumsum([0, *map(len, rows)])]).tolist()
    else:
        each = [_counts(row) for row in rows]
        counts, sums = np.concatenate(each), [int(row.sum()) for row in each]
    expected = sums[0] if tokens is None else validation.integer("tokens", tokens, 0, LONGEST)
    for row, total in enumerate(sums):
        if total != expected:
            where = f" in row {row}" if nested else ""
            rule = "the same in every row" if tokens is None else "tokens"
            raise ValueError(
                f"lengths must sum to {rule}, {expected}; got {total}{where}. Count padding as a document."
            )
    validation.size("lengths", sum(sums))
    return counts, len(rows) if nested else None


def _counts(lengths: Any) -> np.ndarray:
    """Lengths of documents of one row, checked at once where they are plain numbers."""
    if hasattr(lengths, "__len__") and getattr(lengths, "ndim", None) != 0:  # an array of no axis has no length
        validation.size("lengths", len(lengths))
    if isinstance(lengths, list | tuple) and set(map(type, lengths)) <= {int}:
        plain = len(lengths) == 0 or (min(lengths) >= 0 and max(lengths) <= LONGEST)
    else:
        plain = isinstance(lengths, np.ndarray) and lengths.ndim == 1 and lengths.dtype.kind in "iu"
        plain = plain and (len(lengths) == 0 or (lengths.min() >= 0 and lengths.max() <= LONGEST))
    if plain:
        return np.asarray(lengths, np.int64)
    return np.array(validation.integers("lengths", lengths, 0, LONGEST), dtype=np.int64)


def _shape(rows: int | None, count: int) -> tuple[int, ...]:
    """Shape of a row of tokens, or of a batch of rows."""
    return (count,) if rows is None else (rows, count // rows)


def decoding(cached: Array, steps: int = 1) -> Any:
    """Positions of the next tokens when `cached` tokens a row are already there.

    Args:
        cached: A number, or a whole number for each row, (batch,).
        steps: Number of next tokens.

    Returns:
        (steps,) or (batch, steps), in the widest signed integers of the library of `cached`.

    Raises:
        TypeError: An argument holds no whole numbers.
        ValueError: `cached` is negative or too large, or `steps` out of range; not of numbers that JAX traces.

    Example:
        >>> decoding([7, 3], steps=2).tolist()
        [[7, 8], [3, 4]]
    """
    cached = arrays.as_array("cached", cached)
    if arrays.kind(cached) != "integer":
        raise TypeError(f"cached must hold whole numbers; got {arrays.dtype_name(cached.dtype)}. Count tokens.")
    steps = validation.integer("steps", steps, 0, LONGEST)
    given = checked(cached, "cached")
    lib, ends = given.lib, given.bounds
    validation.size("steps", math.prod(cached.shape) * steps)
    if ends is not None and ends[0] < 0:
        raise ValueError(f"cached must not be negative; got {ends[0]}. Count the tokens that are in the cache.")
    if ends is not None and ends[1] > 2**53 - LONGEST:
        raise ValueError(f"cached must be at most 2^53 - 2^30; got {ends[1]}. Count the tokens that are in the cache.")
    if ends is not None:
        check_range("cached + steps - 1", (ends[0], ends[1] + steps - 1), lib.float64)
    return lib.signed(given.array)[..., None] + lib.arange(steps)
