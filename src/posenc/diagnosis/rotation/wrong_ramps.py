"""Frequencies of scalings with a wrong ramp: reversed, placed by another base, or multiplied where it divides."""

from __future__ import annotations

import math

import numpy as np

from posenc.diagnosis.rotation.rotation_usage import Reversal, rope_with
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Llama3, LongRoPE, Scaling, YaRN


def of_other_ramp_base(
    rope: RoPE | AxialRoPE, unscaled: np.ndarray, scaled: np.ndarray, base: float
) -> tuple[RoPE | AxialRoPE, np.ndarray]:
    """Place a RoPE's ramp by another base: the RoPE with that base, and its own frequencies (pairs,) so scaled."""
    placed = rope_with(rope, base=base)
    bare = None if placed is None else rope_with(placed, scaling=None)
    if placed is None or bare is None:
        return rope, scaled
    return placed, np.asarray(unscaled * (placed.frequencies.radians() / bare.frequencies.radians()))


def of_multiplied_ramp(scaling: Scaling, unscaled: np.ndarray, scaled: np.ndarray) -> np.ndarray:
    """The frequencies (pairs,) of code that multiplies by a factor, or by divisors, where it is to divide."""
    share = scaled / unscaled
    factor = getattr(scaling, "factor", 1.0)
    return np.asarray(unscaled / share if isinstance(scaling, LongRoPE) else unscaled * (1.0 + (1.0 - share) * factor))


def of_reversed_ramp(rope: RoPE, unscaled: np.ndarray, scaled: np.ndarray, reversal: Reversal) -> np.ndarray:
    """Compute the frequencies (pairs,) of this RoPE with the ramp of its scaling, YaRN or Llama 3, reversed."""
    scaling = rope.scaling
    slowest = unscaled / getattr(scaling, "factor", 1.0)
    if isinstance(scaling, Llama3) and reversal != "everywhere":
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
    """Mask (pairs,) of the pairs that Llama 3's scaling blends; None for other scalings."""
    if not isinstance(scaling, Llama3):
        return None
    position = _in_middle_band(scaling, unscaled)
    return (position > 0.0) & (position < 1.0)


def _in_middle_band(scaling: Llama3, unscaled: np.ndarray) -> np.ndarray:
    """Place (pairs,) in Llama 3's middle band: 0 at the wavelength original/high, 1 at original/low."""
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
