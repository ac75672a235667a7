"""Sets of heads, positions or rows in words: a run, or every n-th of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: So many numbers are listed one by one.
LISTED = 3


def set_in_words(name: str, wrong: Sequence[float] | np.ndarray, every: Sequence[float] | np.ndarray) -> str:
    """Describe the heads, positions or rows in question, as "heads 8 to 11"; "" where they follow no rule.

    Args:
        name: What is numbered, in the singular.
        wrong: The numbers in question, rising.
        every: All numbers, rising.

    Returns:
        A run of them, every n-th from one to the last, or a list of a few.

    Example:
        >>> set_in_words("head", [8, 9, 10, 11], range(12)), set_in_words("position", [200, 201, 202], range(203))
        ('heads 8 to 11', 'positions from 200 on')
        >>> set_in_words("position", [95, 191, 287], range(300)), set_in_words("head", [2, 5], range(8))
        ('every 96 positions, from 95 on', 'heads 2, 5')
        >>> set_in_words("head", [0, 1, 5, 7], range(8)), set_in_words("head", [0, 2, 4], range(8))
        ('', 'heads 0, 2, 4')
    """
    numbers, place = np.asarray(wrong), np.searchsorted(np.asarray(every), wrong)
    steps = np.diff(place)
    if len(numbers) == 1:
        return f"{name} {numbers[0]}"
    if len(numbers) > 2 and np.all(steps == 1):
        to_the_end = name != "head" and numbers[-1] == every[-1]
        return f"{name}s from {numbers[0]} on" if to_the_end else f"{name}s {numbers[0]} to {numbers[-1]}"
    strides = np.diff(numbers)
    to_the_end = numbers[-1] + strides[-1:] > every[-1]
    if len(numbers) > 2 and np.all(strides == strides[0]) and to_the_end.all():
        return f"every {strides[0]} {name}s, from {numbers[0]} on"
    return f"{name}s {', '.join(map(str, numbers))}" if len(numbers) <= LISTED else ""
