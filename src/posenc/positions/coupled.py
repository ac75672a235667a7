"""Coupled positions: tokens that belong together share one."""

from __future__ import annotations

import numpy as np

from posenc.core import validation
from posenc.positions.random_positions import generator

LONGEST_NUMBER = 1 << 20


def coupled(
    first: int,
    second: int,
    answer: int,
    *,
    reverse_input: bool = False,
    reverse_output: bool = True,
    longest: int | None = None,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Positions of the characters of "a+b=c", digits of the same significance sharing one.

    As in the released code of position coupling, "+" takes the start s, the digits of each number take s+1, s+2, … from
    the least significant one; "=" takes s before a reversed answer and s+answer+1 before an answer written in the usual
    order.

    Args:
        first: Digits of a.
        second: Digits of b.
        answer: Digits of c.
        reverse_input: Whether a and b are written with the least significant digit first.
        reverse_output: Whether c is written with the least significant digit first.
        longest: Largest position; s is drawn uniformly from 1 up to where no position exceeds it. None: s is 1.
        rng: Generator that s is drawn from; given together with `longest`.

    Returns:
        (first + second + answer + 2,), int64.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A number is out of range, or only one of `longest` and `rng` is given.

    References:
        Cho et al. 2024, arXiv:2405.20671.

    Example:
        >>> coupled(3, 2, 3).tolist()  # 653 + 49 = 702, the answer written 207
        [4, 3, 2, 1, 3, 2, 1, 2, 3, 4]
    """
    sizes = {"first": first, "second": second, "answer": answer}
    one, two, three = (validation.integer(name, size, 1, LONGEST_NUMBER) for name, size in sizes.items())
    reverses_input, reverses_output = (
        validation.truth("reverse_input", reverse_input),
        validation.truth("reverse_output", reverse_output),
    )
    start = _start(max(one, two, three) if reverses_output else max(one, two, three + 1), longest, rng)
    equals = start if reverses_output else start + three + 1
    plus, sign = np.array([0]), np.array([equals - start])
    parts = [_digits(one, reverses_input), plus, _digits(two, reverses_input), sign, _digits(three, reverses_output)]
    return start + np.concatenate(parts).astype(np.int64)


def _digits(count: int, least_first: bool) -> np.ndarray:
    """Distance of each digit from the start."""
    counted = np.arange(1, count + 1)
    return counted if least_first else counted[::-1]


def _start(span: int, longest: int | None, rng: np.random.Generator | None) -> int:
    """Start position: 1, or a uniform draw from 1 to longest - span, so that no position exceeds `longest`."""
    if (longest is None) != (rng is None):
        raise ValueError(
            f"longest and rng must be given together or not at all; got longest={validation.shown(longest)} and "
            f"rng={validation.shown(rng)}. Give both for a random start."
        )
    if longest is None or rng is None:
        return 1
    longest = validation.integer("longest", longest, span + 1, 2**53)
    return int(generator(rng).integers(1, longest - span, endpoint=True))
