"""What a change of frequencies does to a trained model, in numbers that are computed and not guessed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from posenc import _check
from posenc.models.pair_rotation import PairRotation

#: The longest length that is planned for: the mean cosine is formed at every distance up to it.
LONGEST = 1 << 22
#: Turns over the trained length that part the bands: beta_fast and beta_slow of YaRN.
FAST, SLOW = 32.0, 1.0
#: The ratio of two bases that are tried one after the other, and where to stop.
STEP, HIGHEST = 1.001, 1e12
#: How many distances to try a base at first.
MEMORY = 63


@dataclass(frozen=True)
class Band:
    """Pairs that turn alike often over the trained length.

    name: "fast" from 32 turns, "middle" from one, "slow" below, "still" for none.      pairs: how many.
    slowed: the least and the greatest trained frequency / new frequency.
    unseen: pairs that reach angles at the new length which training did not show: never a whole turn then, and farther now.
    """

    name: str
    pairs: int
    slowed: tuple[float, float]
    unseen: int


@dataclass(frozen=True)
class Figures:
    """Of one way to reach a length.

    bands: fast, middle and slow pairs.      unseen: pairs at angles never trained.      beyond: how many times farther the farthest
    of these gets than in training.      short: the largest change of the mean cosine within the typical length (0 is as trained;
    it is 2 at most).      attention: what cos and sin are multiplied by; logits by its square.
    aggregates_to: the first distance at which the sum of cosines is negative, below which similar tokens draw more attention than others
    (Men et al. 2024); None where it never is up to the length.
    """

    bands: tuple[Band, ...]
    unseen: int
    beyond: float
    short: float
    attention: float
    aggregates_to: int | None


def figures(
    trained: PairRotation, new: PairRotation, trained_length: int, length: int, typical: int, short: PairRotation
) -> Figures:
    """Compare; `short` is the rotation that serves inputs of the typical length, `new` where it does not depend on it."""
    before, after = trained.radians(), new.radians()
    turns = before * trained_length / (2 * math.pi)
    reach = np.divide(after * length, before * trained_length, out=np.ones_like(after), where=before > 0)
    unseen = (turns < 1) & (reach > 1 + 1e-9) & (before > 0)
    still = trained.dim // 2 - trained.pairs
    kernels = [mean_cosine(one.radians(), typical, still) for one in (trained, short)]
    return Figures(
        bands=_bands(before, after, turns, unseen),
        unseen=int(unseen.sum()),
        beyond=float(reach[unseen].max()) if unseen.any() else 1.0,
        short=float(np.abs(kernels[0] - kernels[1]).max()),
        attention=new.factor,
        aggregates_to=first_negative(after, length, still),
    )


def _bands(before: np.ndarray, after: np.ndarray, turns: np.ndarray, unseen: np.ndarray) -> tuple[Band, ...]:
    made = []
    for name, inside in (
        ("fast", turns >= FAST),
        ("middle", (turns >= SLOW) & (turns < FAST)),
        ("slow", (turns < SLOW) & (before > 0)),
    ):
        count = int(inside.sum())
        slowed = before[inside] / np.maximum(after[inside], 1e-300) if count else np.ones(1)
        made.append(Band(name, count, (float(slowed.min()), float(slowed.max())), int(unseen[inside].sum())))
    return tuple(made)


def mean_cosine(frequencies: np.ndarray, length: int, still: int = 0) -> np.ndarray:
    """(Σ_i cos(m·ω_i) + still) / (pairs + still) for m = 0 … length-1; pairs that stand still count as 1.

    Distances are split as m = a·C + b, so that a product of two small matrices gives all of them.
    """
    _check.integer("length", length, 1, LONGEST)
    across = math.isqrt(length - 1) + 1
    coarse = np.outer(np.arange(-(-length // across)) * across, frequencies)
    fine = np.outer(frequencies, np.arange(across))
    total = np.cos(coarse) @ np.cos(fine) - np.sin(coarse) @ np.sin(fine)
    return np.asarray((total.reshape(-1)[:length] + still) / (len(frequencies) + still))


def first_negative(frequencies: np.ndarray, length: int, still: int = 0) -> int | None:
    """The first distance below `length` at which the sum of cosines is negative; None where there is none."""
    negative = mean_cosine(frequencies, length, still) < 0
    return int(np.argmax(negative)) if negative.any() else None


@lru_cache(maxsize=64)
def base_bound(dim: int, length: int, still: int = 0) -> float:
    """The least base for which Σ_i cos(m·base^(-2i/dim)) + still ≥ 0 at every distance m below `length`, in steps of 0.1%.

    Men et al. 2024, arXiv:2405.14591: below it a token similar to the query does not draw more attention than any other, far away.
    A base that holds does not mean that all larger ones do, so bases are tried upwards.      still: pairs of the head that do not
    turn; with as many of them as turn, every base holds. It is about random vectors: it bounds, and promises nothing.

    >>> f"{base_bound(dim=128, length=4096):.1e}"
    '2.7e+04'
    """
    dim, length = _check.integer("dim", dim, 2, even=True), _check.integer("length", length, 2, LONGEST)
    exponents, seen = np.arange(0, dim, 2) / dim, np.array([1])
    # With infinitely many pairs the bound is 1.6 · length (kexue.fm/archives/10122), and with fewer it is higher.
    base = length / 2 if not still else 1.0
    while base < HIGHEST:
        frequencies = base**-exponents
        # Distances at which an earlier base failed tell soonest that this one does.
        if np.cos(np.outer(seen, frequencies)).sum(-1).min() + still >= 0:
            mean = mean_cosine(frequencies, length, still)
            if mean.min() >= 0:
                return base
            seen = np.append(seen[-MEMORY:], int(np.argmin(mean)))
        base *= STEP
    return math.inf
