"""Positions on two levels: the place in a segment, and which segment."""

from __future__ import annotations

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.positions.sequences import LONGEST


def bi_level(ends: Array, *, longest: int | None = None) -> tuple[Array, Array]:
    """Number each token within its segment, and the segments.

    The first is for an absolute encoding that is added, the second for a relative one. A separator (a full stop, the
    end of a line) is the last token of its segment.

    Args:
        ends: (*batch, n), true or 1 at the separators.
        longest: Places from longest-1 on are that place, as in the released code with 1024; None leaves them.

    Returns:
        Place of each token within its segment and number of its segment, both from 0: two arrays (*batch, n), integers.

    Raises:
        TypeError: `ends` holds no truth values, or `longest` is no whole number.
        ValueError: `ends` has no sequence axis, or a number is out of range.

    References:
        He et al. 2024, arXiv:2401.16421 (BiPE).

    Example:
        >>> within, segment = bi_level([0, 0, 1, 0, 1, 0])
        >>> within.tolist(), segment.tolist()
        ([0, 1, 2, 0, 1, 0], [0, 0, 0, 1, 1, 2])
    """
    ends = arrays.as_mask("ends", ends)
    if ends.ndim < 1:
        raise ValueError(
            f"ends must have a sequence axis; got shape {tuple(ends.shape)}. Give one truth value a token."
        )
    lib, length = arrays.library(ends), ends.shape[-1]
    xp, one = lib.xp, lib.astype(ends, lib.integer)
    segment = lib.astype(xp.cumsum(one, -1), one.dtype) - one
    sizes = lib.sum_along(xp.ones_like(one), segment, length)
    starts = lib.astype(xp.cumsum(sizes, -1), one.dtype) - sizes
    within = lib.arange(length) - lib.take_along(starts, segment)
    if longest is not None:
        within = xp.clip(within, 0, validation.integer("longest", longest, 1, LONGEST) - 1)
    return within, segment
