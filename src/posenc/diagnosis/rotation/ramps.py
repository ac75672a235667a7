"""Frequencies of a scaling whose ramp between stretched and unstretched pairs runs the other way round."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Llama3, Scaling, YaRN

#: What is exchanged: the two ends of the ramp, or the frequencies that it blends.
Reversal = Literal["ends", "blend"]


def of_reversed_ramp(rope: RoPE, unscaled: np.ndarray, scaled: np.ndarray, reversal: Reversal) -> np.ndarray:
    """The frequencies (pairs,) of this RoPE with its ramp reversed; as they are where its scaling has none."""
    scaling = rope.scaling
    slowest = unscaled / getattr(scaling, "factor", 1.0)
    if isinstance(scaling, Llama3):
        position = _in_middle_band(scaling, unscaled)
        ends = unscaled / ((1.0 - position) * scaling.factor + position)
        blended = ends if reversal == "ends" else unscaled + slowest - scaled
        return np.where((position > 0.0) & (position < 1.0), blended, scaled)
    if isinstance(scaling, YaRN) and reversal == "ends":
        share = _exchanged_share(scaling, rope)
        fast, slow = unscaled.astype(np.float32), slowest.astype(np.float32)
        return np.asarray(slow * share + fast * (1 - share), dtype=np.float64)
    return np.asarray(unscaled + slowest - scaled)


def in_middle_band(scaling: Scaling | None, unscaled: np.ndarray) -> np.ndarray | None:
    """Which pairs (pairs,) Llama 3's scaling blends; None for other scalings."""
    if not isinstance(scaling, Llama3):
        return None
    position = _in_middle_band(scaling, unscaled)
    return (position > 0.0) & (position < 1.0)


def _in_middle_band(scaling: Llama3, unscaled: np.ndarray) -> np.ndarray:
    """0 where the band begins, at the wavelength original/high, and 1 where it ends, at original/low."""
    first, last = scaling.original / scaling.high, scaling.original / scaling.low
    return np.asarray((2 * np.pi / unscaled - first) / max(last - first, 1e-9))


def _exchanged_share(scaling: YaRN, rope: RoPE) -> np.ndarray:
    """How much each pair is stretched where beta_fast stands for beta_slow and the other way round, in float32."""

    def pair_of(rotations: float) -> float:
        return rope.head_dim * math.log(scaling.original / (rotations * 2 * math.pi)) / (2 * math.log(rope.base))

    low, high = pair_of(scaling.beta_slow), pair_of(scaling.beta_fast)
    if scaling.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, rope.head_dim - 1)
    ramp = (np.arange(rope.head_dim // 2, dtype=np.float32) - np.float32(low)) / np.float32((high - low) or 0.001)
    return np.asarray(np.clip(ramp, np.float32(0), np.float32(1)))
