"""Positions of released models in NumPy, from the papers' formulas: what an honest engine computes.

Nothing here comes from posenc: the bank must not share a mistake with what it judges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Scaling = dict[str, Any]


@dataclass(frozen=True)
class Rotary:
    """A rotation of pairs of channels, with the places where code goes wrong as fields."""

    head: int  # channels of a head
    base: float
    width: int = 0  # channels that rotate, the first of the head; 0 for all
    adjacent: bool = False  # pairs (2i, 2i + 1); otherwise (i, i + width / 2)
    scaling: Scaling | None = None
    amplitude: float = 1.0  # factor of cosines and sines
    exponent: float = 0.0  # what 2i is divided by; 0 for the width
    rounded: str = ""  # the type that frequencies were rounded to
    sign: int = 1
    cosine_for_sine: bool = False
    mixed: bool = False  # angles laid out for the other pairing
    multiplied: bool = False  # frequencies times the factor of the scaling instead of divided

    @property
    def rotated(self) -> int:
        return self.width or self.head


def bfloat16(x: np.ndarray) -> np.ndarray:
    """Round to 8 significant bits, to nearest, ties to even."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(np.float64)


ROUNDINGS = {"bfloat16": bfloat16, "float16": lambda x: np.asarray(x, np.float16).astype(np.float64)}


def frequencies(rotary: Rotary) -> np.ndarray:
    pairs = np.arange(rotary.rotated // 2)
    found = rotary.base ** (-2.0 * pairs / (rotary.exponent or rotary.rotated))
    if rotary.scaling:
        found = SCALINGS[rotary.scaling["kind"]](found, rotary)
    if rotary.multiplied:
        found = rotary.base ** (-2.0 * pairs / rotary.rotated) * rotary.scaling["factor"]
    return ROUNDINGS[rotary.rounded](found) if rotary.rounded else found


def linear(found: np.ndarray, rotary: Rotary) -> np.ndarray:
    """Positions divided by the factor (2306.15595)."""
    return found / rotary.scaling["factor"]


def llama3(found: np.ndarray, rotary: Rotary) -> np.ndarray:
    """Long wavelengths divided by the factor, short ones kept, a blend between (Llama 3.1)."""
    said, wavelength = rotary.scaling, 2 * math.pi / found
    smooth = (said["original"] / wavelength - said["low"]) / (said["high"] - said["low"])
    smooth = np.clip(smooth, 0, 1)
    return (1 - smooth) * found / said["factor"] + smooth * found


def yarn(found: np.ndarray, rotary: Rotary) -> np.ndarray:
    """A ramp over channels between two numbers of rotations within the trained length (2309.00071, its code)."""
    said, d = rotary.scaling, rotary.rotated

    def channel(turns: float) -> float:
        return d * math.log(said["original"] / (2 * math.pi * turns)) / (2 * math.log(rotary.base))

    low, high = channel(said["fast"]), channel(said["slow"])
    if said["truncate"]:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, d - 1)
    ramp = np.clip((np.arange(d // 2) - low) / ((high - low) or 0.001), 0, 1)
    return found * (1 - ramp) + found / said["factor"] * ramp


def longrope(found: np.ndarray, rotary: Rotary) -> np.ndarray:
    """A divisor for each pair (2402.13753)."""
    return found / np.array(rotary.scaling["divisors"])


SCALINGS = {"linear": linear, "llama3": llama3, "yarn": yarn, "longrope": longrope}


def tables(rotary: Rotary, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines, (tokens, pairs)."""
    angles = np.multiply.outer(np.asarray(positions, float), frequencies(rotary)) * rotary.sign
    cos, sin = np.cos(angles) * rotary.amplitude, np.sin(angles) * rotary.amplitude
    return (sin, cos) if rotary.cosine_for_sine else (cos, sin)


def rotate(rotary: Rotary | None, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Rotate x, (heads, tokens, channels); positions are (tokens,) or (heads, tokens)."""
    if rotary is None:
        return x
    n, half = rotary.rotated, rotary.rotated // 2
    cos, sin = tables(rotary, positions)
    if rotary.mixed:  # angle of pair i stands at channels 2i and 2i + 1, but channels i and i + half are combined
        doubled = [np.repeat(table, 2, axis=-1) for table in (cos, sin)]
        (cos, cos_second), (sin, sin_second) = ((table[..., :half], table[..., half:]) for table in doubled)
    else:
        cos_second, sin_second = cos, sin
    first, second = (x[..., 0:n:2], x[..., 1:n:2]) if rotary.adjacent else (x[..., :half], x[..., half:n])
    turned = np.array(x, dtype=np.result_type(x, np.float64))
    here = (slice(0, n, 2), slice(1, n, 2)) if rotary.adjacent else (slice(0, half), slice(half, n))
    turned[..., here[0]] = first * cos - second * sin
    turned[..., here[1]] = second * cos_second + first * sin_second
    return turned


def mscale(factor: float, weight: float = 1.0) -> float:
    return 0.1 * weight * math.log(factor) + 1.0


def slopes(heads: int, steepest: float = 8.0, first: int = 1) -> np.ndarray:
    """Slopes of ALiBi (2108.12409): a geometric sequence, and every other one of the next for other numbers."""
    whole = 2 ** math.floor(math.log2(heads))
    found = [2.0 ** (-steepest * (i + first) / whole) for i in range(whole)]
    found += [2.0 ** (-steepest * (i + first) / (2 * whole)) for i in range(0, 2 * (heads - whole), 2)]
    return np.array(found[:heads])


def bucket(distance: np.ndarray, buckets: int, reach: int, both: bool) -> np.ndarray:
    """T5's number of a bucket of key - query (1910.10683)."""
    offset = np.zeros_like(distance)
    if both:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    far = np.log(np.maximum(distance, 1) / exact) / math.log(reach / exact) * (buckets - exact)
    return offset + np.where(distance < exact, distance, np.minimum(exact + far.astype(int), buckets - 1))


def softmax(z: np.ndarray) -> np.ndarray:
    z = np.exp(z - z.max(-1, keepdims=True))
    return z / z.sum(-1, keepdims=True)


__all__ = ["Rotary", "bucket", "frequencies", "mscale", "replace", "rotate", "slopes", "softmax", "tables"]
