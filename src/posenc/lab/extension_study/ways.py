"""Ways to a longer context that a study tries, and a search for the divisors of LongRoPE."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from posenc.core.doors import Encoding, RotaryEncoding
from posenc.encodings.adds.nope import NoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import (
    Clipped,
    DynamicNTK,
    LongRoPE,
    NTKByParts,
    NTKFixed,
    NTKMixed,
    Proportional,
    Resonance,
    YaRN,
)
from posenc.models.extension_planning.planner import scaling_candidates
from posenc.models.extension_planning.snippets import rewrapped
from posenc.models.pair_rotation import unwrapped

#: Su 2023, kexue.fm/archives/9706, in the published patch.
MIXED = 0.75
SEARCHED = "searched"
#: How far a step of the search goes, in natural logarithms of a divisor; and the most that a pair is slowed, of what
#: linear interpolation slows it.
STEP, MOST = 0.25, 2.0
Divisors = tuple[float, ...]


class ExtensionCandidate(NamedTuple):
    """A way to a longer context.

    Where frequencies follow the length, the two encodings differ.

    Args:
        name: Of the way.
        long: The encoding that reads contexts beyond the trained length.
        short: The encoding that reads the others.
    """

    name: str
    long: Encoding
    short: Encoding

    def at(self, length: int, trained: int) -> Encoding:
        """Encoding for `length` tokens: `short` up to the trained length, else `long`, with DynamicNTK at `length`."""
        return self.short if length <= trained else at_length(self.long, length)


def at_length(encoding: Encoding, length: int) -> Encoding:
    """An encoding whose frequencies are those of a length, where they follow it as those of DynamicNTK do.

    Example:
        >>> from posenc.frequencies import DynamicNTK
        >>> at_length(RoPE(dim=16, scaling=DynamicNTK(4.0, 64, 256)), 128).scaling.length
        128
    """
    inner = unwrapped(encoding)
    if isinstance(encoding, RotaryEncoding) and isinstance(inner, RoPE) and isinstance(inner.scaling, DynamicNTK):
        return rewrapped(encoding, replace(inner, scaling=replace(inner.scaling, length=length)))
    return encoding


def extension_candidates(encoding: RoPE, trained: int, length: int, width: int) -> tuple[ExtensionCandidate, ...]:
    """Every way for a rotary encoding without a scaling: the unchanged one first, the planner's next.

    `NTKAware`, which is the planner's larger base, is left out, and so are divisors that are searched for (`searched`).

    Args:
        encoding: Trained.
        trained: The trained length.
        length: To reach.
        width: Channels of the model.

    Returns:
        The ways.

    Example:
        >>> [each.name for each in extension_candidates(RoPE(dim=16), 64, 256, 64)][:3]
        ['as it is', 'YaRN', 'Llama 3']
    """
    planned = [
        ExtensionCandidate(way.name, way.encoding, way.short)
        for way in scaling_candidates(encoding, trained, length, trained)
    ]
    nothing = NoPE(dim=width)
    return (
        *planned,
        *_others(encoding, trained, length / trained),
        ExtensionCandidate("no positions", nothing, nothing),
    )


def searched(encoding: RoPE, divisors: Sequence[float], trained: int, length: int) -> ExtensionCandidate:
    """LongRoPE with divisors that a search has found, for every context that is longer than the trained one."""
    ones = (1.0,) * (encoding.dim // 2)
    scaling = LongRoPE(ones, tuple(divisors), trained, length, length / trained)
    long, short = (replace(encoding, scaling=replace(scaling, length=n)) for n in (length, trained))
    return ExtensionCandidate(SEARCHED, long, short)


def _others(encoding: RoPE, trained: int, stretch: float) -> tuple[ExtensionCandidate, ...]:
    slow = sum(radians * trained < 2 * math.pi for radians in encoding.frequencies.radians().tolist())
    scalings = {
        "NTK by parts": NTKByParts(stretch, trained),
        "NTK fixed": NTKFixed(stretch),
        "NTK mixed": NTKMixed(stretch, MIXED),
        "resonance YaRN": Resonance(YaRN(stretch, trained)),
    }
    if 0 < slow < encoding.dim // 2:
        scalings |= {
            "clipped": Clipped(slow),
            "slow pairs stopped": Proportional((encoding.dim // 2 - slow) / (encoding.dim // 2)),
        }
    others = [(name, replace(encoding, scaling=scaling)) for name, scaling in scalings.items()]
    return tuple(ExtensionCandidate(name, new, new) for name, new in others)


def search(
    starts: Sequence[Divisors], stretch: float, loss: Callable[[Divisors], float], candidates: int, seed: int
) -> Divisors:
    """Search for the best list of divisors: try the starts, then changes of the best list so far.

    As in LongRoPE (Ding et al. 2024, arXiv:2402.13753, §3), a slower pair is never slowed less than a faster one; the
    search there keeps a population, this one a single list.

    Args:
        starts: Lists to begin with.
        stretch: The new length over the trained one.
        loss: Of a list.
        candidates: How many lists are tried.
        seed: Of the changes.

    Returns:
        The best list.

    Example:
        >>> search([(1.0, 1.0)], 4.0, lambda divisors: abs(divisors[1] - 2), 200, 0)[1].__round__(1)
        2.0
    """
    rng = np.random.default_rng(seed)
    best, least = starts[0], float("inf")
    for index in range(candidates):
        attempt = starts[index] if index < len(starts) else _changed(best, stretch, rng)
        found = loss(attempt)
        if found < least:
            best, least = attempt, found
    return best


def _changed(divisors: Divisors, stretch: float, rng: np.random.Generator) -> Divisors:
    moved = np.log(divisors) + rng.normal(0.0, STEP, len(divisors))
    rising = np.maximum.accumulate(np.clip(np.exp(moved), 1.0, MOST * stretch))
    return tuple(float(f"{each:.4g}") for each in rising)
