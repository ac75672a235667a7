"""Positions of tokens in a sequence, a padded batch, a pack of documents and a decoding step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array

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


def packed(lengths: Sequence[int]) -> np.ndarray:
    """Positions of documents packed into one row: each starts again at 0.

    Args:
        lengths: Number of tokens of each document.

    Returns:
        (sum of lengths,), int64.

    Raises:
        TypeError: `lengths` is no list of whole numbers.
        ValueError: A length is out of range.

    Example:
        >>> packed([3, 2]).tolist()
        [0, 1, 2, 0, 1]
    """
    counts = _lengths(lengths)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    positions: np.ndarray = np.arange(counts.sum(), dtype=np.int64) - starts
    return positions


def _lengths(lengths: Sequence[int]) -> np.ndarray:
    """Check lengths of documents that can be packed into one row."""
    counts = np.array(validation.integers("lengths", lengths, 0, LONGEST), dtype=np.int64)
    validation.size("lengths", int(counts.sum()))
    return counts


def documents(lengths: Sequence[int]) -> np.ndarray:
    """Number the document of each token of a packed row, from 0.

    Args:
        lengths: Number of tokens of each document.

    Returns:
        (sum of lengths,), int64.

    Raises:
        TypeError: `lengths` is no list of whole numbers.
        ValueError: A length is out of range.

    Example:
        >>> documents([3, 2]).tolist()
        [0, 0, 0, 1, 1]
    """
    counts = _lengths(lengths)
    numbers: np.ndarray = np.repeat(np.arange(len(counts)), counts)
    return numbers


def decoding(cached: Array, steps: int = 1) -> Any:
    """Positions of the next tokens when `cached` tokens a row are already there.

    Args:
        cached: A number, or a whole number for each row, (batch,).
        steps: Number of next tokens.

    Returns:
        (steps,) or (batch, steps), integers.

    Raises:
        TypeError: An argument holds no whole numbers.
        ValueError: `cached` is negative, or `steps` out of range.

    Example:
        >>> decoding([7, 3], steps=2).tolist()
        [[7, 8], [3, 4]]
    """
    cached = arrays.as_array("cached", cached)
    validation.rank("cached", cached)
    if arrays.kind(cached) != "integer":
        raise TypeError(f"cached must hold whole numbers; got {arrays.dtype_name(cached.dtype)}. Count tokens.")
    steps = validation.integer("steps", steps, 0, LONGEST)
    lib = arrays.library(cached)
    validation.size("steps", math.prod(cached.shape) * steps)
    ends = lib.extremes(cached)
    if ends is not None and ends[0] < 0:
        raise ValueError(f"cached must not be negative; got {ends[0]}. Count the tokens that are in the cache.")
    return cached[..., None] + lib.arange(steps)
