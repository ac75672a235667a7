"""A small rotary implementation of its own, in NumPy, in which mistakes can be planted; nothing of posenc is in it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray


def frequencies(dim: int, base: float, over: int | None = None) -> Array:
    """1 / base^(2i/over), one for every two of dim channels."""
    return 1.0 / base ** (np.arange(0, dim, 2) / (over or dim))


def llama3(rates: Array, factor: float = 8.0, original: int = 8192, low: float = 1.0, high: float = 4.0) -> Array:
    found = []
    for rate in rates:
        wavelength = 2 * math.pi / rate
        if wavelength < original / high:
            found.append(rate)
        elif wavelength > original / low:
            found.append(rate / factor)
        else:
            share = (original / wavelength - low) / (high - low)
            found.append((1 - share) * rate / factor + share * rate)
    return np.array(found)


def yarn(dim: int, base: float, factor: float, original: int, truncate: bool = True) -> Array:
    rates = frequencies(dim, base)

    def pair_of(rotations: float) -> float:
        return dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = pair_of(32), pair_of(1)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    ramp = np.clip((np.arange(dim // 2) - max(low, 0)) / (min(high, dim - 1) - max(low, 0)), 0, 1)
    return rates / factor * ramp + rates * (1 - ramp)


def by_parts(dim: int, base: float, factor: float, original: int, alpha: float = 1.0, beta: float = 32.0) -> Array:
    """The ramp of YaRN's paper: linear in how often a pair rotates over the trained length."""
    rates = frequencies(dim, base)
    kept = np.clip((original * rates / (2 * math.pi) - alpha) / (beta - alpha), 0, 1)
    return (1 - kept) * rates / factor + kept * rates


def mscale(factor: float) -> float:
    return 0.1 * math.log(factor) + 1


def waves(rates: Array, positions: Any, factor: float = 1.0) -> tuple[Array, Array]:
    angle = np.asarray(positions, float)[..., None] * rates
    return np.cos(angle) * factor, np.sin(angle) * factor


def halves(x: Array, cos: Array, sin: Array) -> Array:
    """As models of Hugging Face do it: x·cos + rotate_half(x)·sin."""
    half = x.shape[-1] // 2
    rotated = np.concatenate([-x[..., half:], x[..., :half]], -1)
    return x * np.concatenate([cos, cos], -1) + rotated * np.concatenate([sin, sin], -1)


def neighbours(x: Array, cos: Array, sin: Array) -> Array:
    """As the released code of Llama does it: neighbouring channels are one complex number."""
    rotated = (x[..., ::2] + 1j * x[..., 1::2]) * (cos + 1j * sin)
    return np.stack([rotated.real, rotated.imag], -1).reshape(x.shape)


def first_only(rotation: Any, width: int) -> Any:
    """A rotation of the first channels, the rest passing."""
    return lambda x, cos, sin: np.concatenate([rotation(x[..., :width], cos, sin), x[..., width:]], -1)


def bfloat16(values: Any) -> Array:
    """Float32 numbers with their last 16 bits rounded off."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32).astype(float)


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)
