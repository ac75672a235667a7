"""Frequencies and sinusoids as the browser takes them: whole numbers of 2^-104 revolutions (browser/angles.js)."""

from __future__ import annotations

from typing import Any

from posenc.phase import FixedSinusoids, Frequencies
from posenc.phase.fixed_point import digits, whole_revolutions

#: Bits of a limb and how many there are: a limb times 27 bits of a position is exact in a double.
BITS, LIMBS = 26, 4


def browser_frequencies(frequencies: Frequencies) -> list[list[int]]:
    """Each frequency in revolutions a step, to 2^-104: the whole revolutions, then limbs of 26 bits.

    Example:
        >>> from posenc import RoPE
        >>> browser_frequencies(RoPE(dim=4).frequencies)[0]
        [0, 10680707, 28915984, 22192066, 30798973]
    """
    return [
        [revolutions >> BITS * LIMBS, *digits(revolutions, BITS, LIMBS)]
        for revolutions in whole_revolutions(frequencies, BITS * LIMBS)
    ]


def browser_sinusoids(fixed: FixedSinusoids | None, channels: int) -> dict[str, Any] | None:
    """Pack fixed sinusoids for the browser's `sinusoidTable`, with `channels` columns; None if there are none."""
    if fixed is None:
        return None
    return {
        "frequencies": browser_frequencies(fixed.frequencies),
        "layout": fixed.layout,
        "first": fixed.first,
        "width": fixed.width,
        "factor": fixed.factor,
        "start": fixed.start,
        "channels": channels,
    }
