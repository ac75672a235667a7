"""Positions of tokens that share what came before: trees of drafts, and answers to one prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.positions.host_numbers import whole_numbers
from posenc.positions.sequences import LONGEST, decoding

#: The most tokens of a tree or of prompts with their answers: their mask has the square of it.
MOST_BRANCHED = 1 << 14


class Branches(NamedTuple):
    """Tokens of several branches in one row.

    Attributes:
        positions: (tokens,), or (batch, tokens) where caches differ.
        mask: (tokens, tokens), true where a token (row) sees another (column); all see what is cached.
    """

    positions: np.ndarray
    mask: np.ndarray


def draft_tree(parents: Sequence[int], cached: Array = 0) -> Branches:
    """Positions and mask of a tree of drafted tokens behind a cache, for speculative decoding.

    A token's position is the length of the cache plus its depth; it sees the cache, its ancestors and itself. A chain
    of drafts is `decoding(cached, steps)`.

    Args:
        parents: Index of each token's parent in the tree, which comes before it; -1 for one behind the cache.
        cached: Length of the cache, a number or one for each row, (batch,).

    Returns:
        Positions, (tokens,) or (batch, tokens), and the mask between tokens of the tree.

    Raises:
        TypeError: An argument holds no whole numbers.
        ValueError: A parent does not come before its child, or `cached` is negative.

    References:
        Miao et al. 2023, arXiv:2305.09781 (SpecInfer), §4.

    Example:
        >>> tree = draft_tree([-1, 0, 0, 1], cached=7)
        >>> tree.positions.tolist(), tree.mask.astype(int).tolist()
        ([7, 8, 8, 9], [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 1]])
    """
    above = validation.integers("parents", parents, -1, MOST_BRANCHED)
    if len(above) > MOST_BRANCHED:
        raise ValueError(f"parents must be at most {MOST_BRANCHED}; got {len(above)}. Draft fewer tokens.")
    depths, mask = np.zeros(len(above), np.int64), np.eye(len(above), dtype=bool)
    for token, parent in enumerate(above):
        if parent >= token:
            raise ValueError(
                f"parents must come before their children; got {parent} for token {token}. List a tree from its root."
            )
        if parent >= 0:
            depths[token] = depths[parent] + 1
            mask[token] |= mask[parent]
    return Branches(np.asarray(decoding(arrays.numbers_on_host("cached", cached), 1)) + depths, mask)


def shared_prefix(prefix: int, suffixes: Sequence[int]) -> Branches:
    """Positions and mask of one prompt and several answers to it in a row.

    Every answer begins behind the prompt, sees it and itself, and no other answer.

    Args:
        prefix: Number of tokens of the prompt.
        suffixes: Number of tokens of each answer.

    Returns:
        Positions, (tokens,), and the causal mask.

    Raises:
        TypeError: An argument holds no whole numbers.
        ValueError: A number is out of range, or there are more than 16384 tokens.

    Example:
        >>> shared = shared_prefix(2, [2, 1])
        >>> shared.positions.tolist(), shared.mask[3:].astype(int).tolist()
        ([0, 1, 2, 3, 2], [[1, 1, 1, 1, 0], [1, 1, 0, 0, 1]])
    """
    prefix = validation.integer("prefix", prefix, 0, MOST_BRANCHED)
    answers = validation.integers("suffixes", suffixes, 0, MOST_BRANCHED)
    total = prefix + sum(answers)
    if total > MOST_BRANCHED:
        raise ValueError(
            f"suffixes must be at most {MOST_BRANCHED} tokens with the prefix; got {total}. Take fewer answers."
        )
    positions = np.concatenate([np.arange(prefix), *(prefix + np.arange(count) for count in answers)]).astype(np.int64)
    branch = np.repeat(np.arange(len(answers) + 1), [prefix, *answers])
    index = np.arange(total)
    same = (branch[:, None] == branch) | (branch == 0)
    return Branches(positions, same & (index[:, None] >= index))


def ring_positions(length: int | Sequence[int], size: int) -> np.ndarray:
    """Position that each slot of a ring buffer holds, after `length` tokens were written to it one after the other.

    Slot s holds the latest position p with p mod size = s; keys are then in the order of slots, not of time.

    Args:
        length: Number of tokens written, a number or one for each row.
        size: Slots of the buffer, the window of a sliding layer.

    Returns:
        (size,) or (batch, size), int64; -1 where a slot is empty, which a mask must hide from attention.

    Raises:
        TypeError: An argument holds no whole numbers.
        ValueError: A number is out of range.

    Example:
        >>> ring_positions(6, 4).tolist(), ring_positions([2, 5], 4).tolist()
        ([4, 5, 2, 3], [[0, 1, -1, -1], [4, 1, 2, 3]])
    """
    size = validation.integer("size", size, 1, LONGEST)
    single = not hasattr(length, "__len__")
    lengths = validation.integers("length", [length] if single else length, 0, LONGEST)
    validation.size("size", size * len(lengths))
    last = np.array(lengths, np.int64)[:, None] - 1
    held = last - (last - np.arange(size)) % size
    held[held < 0] = -1
    found: np.ndarray = held[0] if single else held
    return found


def first_visible(positions: Any, *, window: int | None = None, chunk: int | None = None) -> np.ndarray:
    """First key position that a causal query sees, in a sliding window or in chunks.

    Keys from it to the query's own position are what a cache must keep and a mask let through.

    Args:
        positions: Positions of queries, whole numbers from 0, any shape.
        window: Number of keys that a query sees, its own included: `sliding_window` of Mistral.
        chunk: Tokens of a chunk, of which a query sees those up to it: `attention_chunk_size` of Llama 4.

    Returns:
        Int64, in the shape of `positions`.

    Raises:
        TypeError: Positions are no whole numbers.
        ValueError: Positions are negative, or not just one of `window` and `chunk` is given.

    Example:
        >>> first_visible([0, 5, 9], window=4).tolist(), first_visible([0, 5, 9], chunk=4).tolist()
        ([0, 2, 6], [0, 4, 8])
    """
    if window is not None:
        window = validation.integer("window", window, 1, LONGEST)
    if chunk is not None:
        chunk = validation.integer("chunk", chunk, 1, LONGEST)
    if (window is None) == (chunk is None):
        raise ValueError(
            f"window or chunk must be given, and not both; got window={window} and chunk={chunk}. Give one of them."
        )
    found = whole_numbers("positions", positions)
    if found.size and found.min() < 0:
        raise ValueError(f"positions must not be negative; got {found.min()}. Count from the first token.")
    if window is not None:
        earliest: np.ndarray = np.maximum(found - window + 1, 0)
        return earliest
    first: np.ndarray = found // chunk * chunk
    return first
