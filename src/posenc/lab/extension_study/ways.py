"""What is tried: the planner's ways to a longer context, and all others that posenc has for a trained rotation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from posenc.core.doors import Encoding
from posenc.encodings.adds.nope import NoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Clipped, LongRoPE, NTKByParts, NTKFixed, NTKMixed, Proportional, Resonance, YaRN
from posenc.models.extension_planning.planner import scaling_candidates

#: Su 2023, kexue.fm/archives/9706, in the published patch.
MIXED = 0.75
SEARCHED = "searched"


class Tried(NamedTuple):
    """A way by its name: the encoding that reads contexts beyond the trained length, and the one that reads the others, which differ where frequencies follow the length."""

    name: str
    long: Encoding
    short: Encoding


def tried(encoding: RoPE, trained: int, length: int, width: int) -> tuple[Tried, ...]:
    """Every way for a rotation without a scaling, in a model so wide; the unchanged one first, the planner's next.

    Left out: `NTKAware`, which is the planner's larger base, and divisors that are searched for (`searched`).

    Example:
        >>> [each.name for each in tried(RoPE(dim=16), 64, 256, 64)][:3]
        ['as it is', 'YaRN', 'Llama 3']
    """
    planned = [
        Tried(way.name, way.encoding, way.short) for way in scaling_candidates(encoding, trained, length, trained)
    ]
    nothing = NoPE(dim=width)
    return (*planned, *_others(encoding, trained, length / trained), Tried("no positions", nothing, nothing))


def searched(encoding: RoPE, divisors: Sequence[float], trained: int, length: int) -> Tried:
    """LongRoPE with divisors that a search has found, for every context that is longer than the trained one."""
    ones = (1.0,) * (encoding.dim // 2)
    scaling = LongRoPE(ones, tuple(divisors), trained, length, length / trained)
    long, short = (replace(encoding, scaling=replace(scaling, length=n)) for n in (length, trained))
    return Tried(SEARCHED, long, short)


def _others(encoding: RoPE, trained: int, stretch: float) -> tuple[Tried, ...]:
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
    return tuple(Tried(name, new, new) for name, new in others)
