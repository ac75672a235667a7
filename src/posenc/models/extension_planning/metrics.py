"""Computed effects of changed RoPE frequencies on a trained model: slowed pairs, unseen angles, mean cosines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from posenc.core import validation
from posenc.models.pair_rotation import PairRotation

#: The longest length that is planned for: the mean cosine is formed at every distance up to it.
LONGEST = 1 << 22
#: Revolutions over the trained length that separate the bands: beta_fast and beta_slow of YaRN.
FAST, SLOW = 32.0, 1.0
#: The ratio of two bases that are tried one after the other, and where to stop.
STEP, HIGHEST = 1.001, 1e12
#: How many distances to try a base at first.
MEMORY = 63


@dataclass(frozen=True)
class Band:
    """Band of pairs that make similar numbers of revolutions over the trained length.

    Attributes:
        name: "fast" from 32 revolutions on, "middle" from one, "slow" below.
        pairs: Their count.
        slowed: The least and the greatest trained frequency / new frequency.
        unseen: Pairs with less than a revolution in training that now reach angles which training did not show.
    """

    name: str
    pairs: int
    slowed: tuple[float, float]
    unseen: int


@dataclass(frozen=True)
class Figures:
    """The effect of a candidate on a trained rotation.

    Attributes:
        bands: Fast, middle and slow pairs.
        unseen: Pairs at angles never trained.
        beyond: How many times farther than in training the farthest of these gets.
        disturbance: What the model must get used to: Σ ln(slowed) over the pairs that made a full revolution in
            training, which tell neighbours apart, and Σ ln(reach) over the slower ones that go farther than they did.
        short: The largest change of the mean cosine within the typical length: 0 is as trained, 2 the most.
        attention: The factor of cos and sin; logits are multiplied by its square.
        aggregates_to: The first distance at which the sum of cosines is negative, below which similar tokens draw more
            attention than others (Men et al. 2024); None where it never is up to the length.
    """

    bands: tuple[Band, ...]
    unseen: int
    beyond: float
    disturbance: float
    short: float
    attention: float
    aggregates_to: int | None


def figures(
    trained: PairRotation, new: PairRotation, trained_length: int, length: int, typical: int, short: PairRotation
) -> Figures:
    """Compare a new rotation with the trained one; `short` is the rotation that serves inputs of `typical` length."""
    before, after = trained.radians(), new.radians()
    revolutions = before * trained_length / (2 * math.pi)
    reach = np.divide(after * length, before * trained_length, out=np.ones_like(after), where=before > 0)
    unseen = (revolutions < 1) & (reach > 1 + 1e-9) & (before > 0)
    unrotated = trained.dim // 2 - trained.pairs
    cosines = [mean_cosine(rotation.radians(), typical, unrotated) for rotation in (trained, short)]
    return Figures(
        bands=_bands(before, after, revolutions, unseen),
        unseen=int(unseen.sum()),
        beyond=float(reach[unseen].max()) if unseen.any() else 1.0,
        disturbance=_disturbance(before, after, revolutions, reach),
        short=float(np.abs(cosines[0] - cosines[1]).max()),
        attention=new.factor,
        aggregates_to=first_negative(after, length, unrotated),
    )


def _disturbance(before: np.ndarray, after: np.ndarray, revolutions: np.ndarray, reach: np.ndarray) -> float:
    """Sum ln(slowing) of pairs with a full trained revolution and ln(reach) of slower ones; each at least 0."""
    slowed = np.nan_to_num(slowed_by(before, after), nan=np.inf)
    return float(np.log(np.maximum(np.where(revolutions >= SLOW, slowed, reach), 1.0)).sum())


def slowed_by(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Trained frequency / new frequency of each pair; NaN for a pair that no longer rotates.

    Example:
        >>> slowed_by(np.array([1.0, 0.5, 0.0]), np.array([1.0, 0.25, 0.0])).tolist()
        [1.0, 2.0, nan]
    """
    return np.asarray(np.divide(before, after, out=np.full_like(before, np.nan), where=after > 0))


def _bands(before: np.ndarray, after: np.ndarray, revolutions: np.ndarray, unseen: np.ndarray) -> tuple[Band, ...]:
    pairs_of = {
        "fast": revolutions >= FAST,
        "middle": (revolutions >= SLOW) & (revolutions < FAST),
        "slow": (revolutions < SLOW) & (before > 0),
    }
    bands = []
    for name, pairs in pairs_of.items():
        slowed = before[pairs] / np.maximum(after[pairs], 1e-300) if pairs.any() else np.ones(1)
        bands.append(Band(name, int(pairs.sum()), (float(slowed.min()), float(slowed.max())), int(unseen[pairs].sum())))
    return tuple(bands)


def mean_cosine(frequencies: np.ndarray, length: int, unrotated: int = 0) -> np.ndarray:
    """(Σ_i cos(m·ω_i) + unrotated) / (pairs + unrotated) for m = 0 … length-1; pairs that do not rotate count as 1.

    Distances are split as m = a·C + b, so that a product of two small matrices gives all of them.
    """
    validation.integer("length", length, 1, LONGEST)
    across = math.isqrt(length - 1) + 1
    coarse = np.outer(np.arange(-(-length // across)) * across, frequencies)
    fine = np.outer(frequencies, np.arange(across))
    total = np.cos(coarse) @ np.cos(fine) - np.sin(coarse) @ np.sin(fine)
    return np.asarray((total.reshape(-1)[:length] + unrotated) / (len(frequencies) + unrotated))


def first_negative(frequencies: np.ndarray, length: int, unrotated: int = 0) -> int | None:
    """The first distance below `length` at which the sum of cosines is negative; None where there is none."""
    negative = mean_cosine(frequencies, length, unrotated) < 0
    return int(np.argmax(negative)) if negative.any() else None


def base_bound(dim: int, length: int, unrotated: int = 0) -> float:
    """Return the least base with which similar tokens draw more attention than others at every distance.

    It is the least base, in steps of 0.1 %, for which Σ_i cos(m·base^(-2i/dim)) + unrotated ≥ 0 at every distance m
    below `length`. A base that holds does not mean that all larger ones do, so bases are tried upwards. The bound is
    about random vectors: below it similarity cannot decide far away, above it nothing is promised.

    Args:
        dim: Channels of a head that rotate; even, from 2.
        length: Positions, from 2 to 4,194,304.
        unrotated: Pairs of the head that do not rotate; with as many of them as of the others, every base holds.

    Returns:
        The base; infinity where none up to 1e12 holds.

    Raises:
        ValueError: A number is out of range.
        TypeError: A number is no whole number.

    References:
        Men et al. 2024, "Base of RoPE Bounds Context Length", arXiv:2405.14591.

    Example:
        >>> f"{base_bound(dim=128, length=4096):.1e}"
        '2.7e+04'
    """
    dim, length = validation.integer("dim", dim, 2, even=True), validation.integer("length", length, 2, LONGEST)
    return _least_base(dim, length, validation.integer("unrotated", unrotated, 0))


@lru_cache(maxsize=64)
def _least_base(dim: int, length: int, unrotated: int) -> float:
    """Search the least base of `base_bound`, for arguments that have been checked."""
    exponents, failed = np.arange(0, dim, 2) / dim, np.array([1])
    # With infinitely many pairs the bound is 1.6 · length (kexue.fm/archives/10122), and with fewer it is higher.
    base = length / 2 if not unrotated else 1.0
    while base < HIGHEST:
        frequencies = base**-exponents
        # Where an earlier base failed, this one probably fails too.
        if np.cos(np.outer(failed, frequencies)).sum(-1).min() + unrotated >= 0:
            mean = mean_cosine(frequencies, length, unrotated)
            if mean.min() >= 0:
                return base
            failed = np.append(failed[-MEMORY:], int(np.argmin(mean)))
        base *= STEP
    return math.inf
