"""Bases read off frequencies, with the stretch of a scaling divided out."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from posenc.diagnosis.mistake import fewest_digits
from posenc.diagnosis.rotation.rotation_usage import RotationUsage, rope_base
from posenc.encodings.rotates.axial_rope import AxialRoPE

#: How far a base may be off, of itself, that was read off narrow numbers.
NEAR_BASE = 0.03
#: Digits of a base that no file states so, as a stretched one.
MOST_DIGITS = 9
#: What released models have: tried where nothing shows a value.
BASES = (1e3, 1e4, 1e5, 1.5e5, 1.6e5, 5e5, 1e6, 2e6, 5e6, 1e7)
#: Where a stretch depends on the base, it is taken off so many times, each time by the base of the last.
ROUNDS = 4


def bases_of(frequencies: np.ndarray, exponents: np.ndarray) -> tuple[float, ...]:
    """Read off the bases whose powers come nearest to frequencies (pairs,), those of the fewest digits first."""
    base = _nearest(frequencies, exponents)
    if base is None:
        return ()
    rounded = (float(f"{base:.{digits}g}") for digits in range(1, 5))
    near = (value for value in (*rounded, *BASES) if abs(value - base) <= NEAR_BASE * base)
    of_more_digits = (float(f"{base:.{digits}g}") for digits in range(5, MOST_DIGITS))
    return tuple(dict.fromkeys((fewest_digits(base), *near, *of_more_digits, base)))


def exponents_of(head_dim: int) -> np.ndarray:
    """Exponents 2i/d of the frequencies of a RoPE, (pairs,)."""
    return np.arange(head_dim // 2) * (2.0 / head_dim)


def bases_of_usage(frequencies: np.ndarray, usage: RotationUsage) -> tuple[float, ...]:
    """Read off the bases of frequencies (pairs,), assuming that they are scaled as the usage scales them."""
    exponents = _exponents(usage, len(frequencies))
    if exponents is None or usage.rope is None:
        return ()
    if usage.scaling is None:
        return bases_of(frequencies, exponents)
    first_pairs = _nearest(frequencies[:2], exponents[:2])  # which most scalings leave alone
    starts = (rope_base(usage.rope), *(() if first_pairs is None else (first_pairs,)))
    starts = (*starts, *(BASES if usage.is_default else ()))
    settled = [found for start in starts if (found := _settled(frequencies, exponents, usage, start)) is not None]
    return bases_of(frequencies / min(settled, key=lambda found: found[0])[1], exponents) if settled else ()


def bases_of_powers(frequencies: np.ndarray, usage: RotationUsage) -> tuple[float, ...]:
    """Read off the bases of frequencies (pairs,), assuming the stretch that the usage's own base gives each pair."""
    exponents = _exponents(usage, len(frequencies))
    stretch = None if usage.rope is None else _stretch(usage, rope_base(usage.rope))
    return () if exponents is None or stretch is None else bases_of(frequencies / stretch, exponents)


def _exponents(usage: RotationUsage, pairs: int) -> np.ndarray | None:
    """Exponents (pairs,) of a usage's frequencies relative to the fastest; None where their number does not fit."""
    if not isinstance(usage.rope, AxialRoPE):
        fits = usage.rope is not None and usage.rope.head_dim == 2 * pairs
        return exponents_of(2 * pairs) if fits else None
    bare, base = usage.with_rope(scaling=None), rope_base(usage.rope)
    powers = np.zeros(0) if bare is None or bare.rope is None else bare.rope.frequencies.radians()
    if len(powers) == len(usage.rope.axis) != pairs:
        powers = _of_one_axis(powers, np.asarray(usage.rope.axis))
    if len(powers) != pairs or base <= 1.0 or not np.all(powers > 0.0):
        return None
    return np.asarray(np.log(powers.max() / powers) / np.log(base))


def _of_one_axis(powers: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Frequencies of one axis, where all axes have the same, as modules hold them once; else of all pairs."""
    of_axes = [powers[axis == one] for one in np.unique(axis)]
    return of_axes[0] if all(np.array_equal(one, of_axes[0]) for one in of_axes) else powers


@lru_cache(maxsize=1024)
def _stretch(usage: RotationUsage, base: float) -> np.ndarray | None:
    """Factor (pairs,) by which the scaling multiplies frequencies of this base; None where any of them is zero."""
    bare, scaled = (usage.with_rope(base=base, **other) for other in ({"scaling": None}, {}))
    if bare is None or scaled is None or bare.rope is None or scaled.rope is None:
        return None
    after, before = (rope.frequencies.float32(np.zeros(1, np.float32)) for rope in (scaled.rope, bare.rope))
    rotating = np.all(after > 0.0) and np.all(before > 0.0)
    return np.asarray(after / before, dtype=np.float64) if rotating else None


def _settled(
    frequencies: np.ndarray, exponents: np.ndarray, usage: RotationUsage, base: float
) -> tuple[float, np.ndarray] | None:
    """Median log error of the frequencies at the base that iteration settles at, and the stretch there; else None."""
    settled = None
    for _ in range(ROUNDS):
        stretch = _stretch(usage, base)
        found = None if stretch is None else _nearest(frequencies / stretch, exponents)
        if stretch is None or found is None:
            return None
        gap = np.abs(np.log(np.maximum(frequencies, 1e-300) / (stretch * found**-exponents)))
        settled, base = (float(np.median(gap)), stretch), found
    return settled


def _nearest(frequencies: np.ndarray, exponents: np.ndarray) -> float | None:
    """Base whose powers fit the leading, falling frequencies best; None where not even the first two fall."""
    power, first = np.unique(exponents, return_index=True)
    ordered = frequencies[first]
    if len(ordered) < 2 or not 0.0 < ordered[1] < ordered[0]:
        return None
    falling = np.flatnonzero(~(np.diff(ordered, prepend=np.inf) < 0.0))
    shown = ordered[: falling[0] if falling.size else len(ordered)]
    slope = np.polyfit(power[: len(shown)], np.log(np.maximum(shown, 1e-300)), 1, w=shown)[0]
    with np.errstate(all="ignore"):
        base = float(np.exp(-slope))
    return base if 1e-3 < base < 1e30 else None
