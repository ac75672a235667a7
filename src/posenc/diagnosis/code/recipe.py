"""How a table or a rotation is computed, in the parameters that are easily got wrong.

A published convention is one recipe, a mistake is a change of a recipe: `diagnose` finds which one gives the numbers
that were received. Plain float64 throughout: this is a model of a student's own code, not the exact one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

Door = Literal["adds", "rotates"]
Order = Literal["adjacent", "halves"]
Rule = Callable[[float, np.ndarray, np.ndarray, int], np.ndarray]

#: The rate of a channel from the base, the number of its pair, its own number and the width.
RATES: Mapping[str, Rule] = {
    "2i/d": lambda base, pair, channel, dim: base ** (-2 * pair / dim),
    "i/(d/2-1)": lambda base, pair, channel, dim: base ** (-pair / (dim // 2 - 1)),
    "i/d": lambda base, pair, channel, dim: base ** (-pair / dim),
    "4i/d": lambda base, pair, channel, dim: base ** (-4 * pair / dim),
    "c/d": lambda base, pair, channel, dim: base ** (-channel / dim),
    "2c/d": lambda base, pair, channel, dim: base ** (-2 * channel / dim),
    "2(i+1)/d": lambda base, pair, channel, dim: base ** (-2 * (pair + 1) / dim),
    "2i/(d-1)": lambda base, pair, channel, dim: base ** (-2 * pair / (dim - 1)),
    "2i": lambda base, pair, channel, dim: base ** (-2 * pair),
    "i": lambda base, pair, channel, dim: base ** (-pair),
    "2i//d": lambda base, pair, channel, dim: base ** (-(2 * pair // dim)),
    "p/b^2*i/d": lambda base, pair, channel, dim: pair / (dim * base**2),
    "p/b^(2i)/d": lambda base, pair, channel, dim: base ** (-2 * pair) / dim,
    "p/b*2i/d": lambda base, pair, channel, dim: 2 * pair / (dim * base),
    "(p/b)^(2i/d)": lambda base, pair, channel, dim: base ** (-2 * pair / dim),
    "-2i/d": lambda base, pair, channel, dim: base ** (2 * pair / dim),
    "linear": lambda base, pair, channel, dim: 1 - pair / (dim // 2 - 1) * (1 - 1 / base),
}


@dataclass(frozen=True)
class Recipe:
    """Everything that decides one number of a table, or of a rotation.

    frequencies: which pair's rate a channel takes, c//2 ("adjacent") or c mod d/2 ("halves").
    pairs: which channels belong together, in the same words: sine beside cosine, or partners of a rotation.
    waves: of the two channels of a pair (adds), or of a channel itself and of its partner (rotates).
    signs: of the two channels of a pair: of their waves (adds), or of what the partner gives (rotates).
    turns: what every angle is multiplied by.   fixed: the width in the exponent when it is not the real one, else 0.
    limit and beyond: where a table ends, and what it silently does there.   rounded: what is rounded, to which type.
    """

    door: Door
    base: float = 10_000.0
    rate: str = "2i/d"
    frequencies: Order = "adjacent"
    pairs: Order = "adjacent"
    waves: tuple[str, str] = ("sine", "cosine")
    signs: tuple[float, float] = (1.0, 1.0)
    turns: float = 1.0
    start: int = 0
    scale: float = 1.0
    fixed: int = 0
    backwards: bool = False
    in_place: bool = False
    alone: bool = False
    limit: int = 0
    beyond: str = ""
    rounded: tuple[str, ...] = ()
    to: str = ""
    whole: bool = False


def rates(recipe: Recipe, dim: int) -> np.ndarray:
    """Radians a step of every channel; shape (dim,)."""
    channel = np.arange(dim, dtype=np.float64)
    half = (dim + 1) // 2
    pair = channel // 2 if recipe.frequencies == "adjacent" else channel % half
    if recipe.backwards:
        pair = half - 1 - pair
    rate = RATES[recipe.rate](float(recipe.base), pair, channel, recipe.fixed or dim) * recipe.turns
    return rounded(rate, recipe.to) if "rates" in recipe.rounded else rate


def evaluate(recipe: Recipe, positions: np.ndarray, dim: int) -> np.ndarray:
    """The table (n, dim), or the rotations (n, dim, dim), that this recipe gives at positions (n,)."""
    with np.errstate(all="ignore"):
        places = _places(recipe, positions)
        angles = places[:, None] * rates(recipe, dim)
        if recipe.rate == "(p/b)^(2i/d)":
            angles = (places[:, None] ** (2 * (np.arange(dim) // 2) / dim)) * rates(recipe, dim)
        if "angles" in recipe.rounded:
            angles = rounded(angles, recipe.to)
        result = _table(recipe, angles) if recipe.door == "adds" else _rotations(recipe, angles)
        if recipe.beyond == "zero":
            result = np.where((positions < recipe.limit).reshape((-1,) + (1,) * (result.ndim - 1)), result, 0.0)
        result = result * recipe.scale
        return np.trunc(result) if recipe.whole else result


def rounded(values: np.ndarray, to: str) -> np.ndarray:
    """The values as a narrower type holds them, as float64 again."""
    if to == "float16":
        return values.astype(np.float16).astype(np.float64)
    bits: np.ndarray = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) & np.uint64(0xFFFF0000)
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


def second_of_pair(order: Order, dim: int) -> np.ndarray:
    """Which channels are the second of their pair; shape (dim,)."""
    channel = np.arange(dim)
    return channel % 2 == 1 if order == "adjacent" else channel >= (dim + 1) // 2


def _places(recipe: Recipe, positions: np.ndarray) -> np.ndarray:
    places = positions.astype(np.float64) + recipe.start
    if recipe.beyond == "clamp":
        places = np.minimum(places, recipe.limit - 1)
    if recipe.beyond == "wrap":
        places = places % recipe.limit
    return rounded(places, recipe.to) if "positions" in recipe.rounded else places


def _wave(name: str, angles: np.ndarray) -> np.ndarray:
    wave: np.ndarray = np.sin(angles) if name == "sine" else np.cos(angles)
    return wave


def _table(recipe: Recipe, angles: np.ndarray) -> np.ndarray:
    second = second_of_pair(recipe.pairs, angles.shape[-1])
    first, other = (sign * _wave(name, angles) for sign, name in zip(recipe.signs, recipe.waves, strict=True))
    return np.where(second, other, first)


def _rotations(recipe: Recipe, angles: np.ndarray) -> np.ndarray:
    count, dim = angles.shape
    channel, second = np.arange(dim), second_of_pair(recipe.pairs, dim)
    step = 1 if recipe.pairs == "adjacent" else dim // 2
    partner = channel if recipe.alone else np.where(second, channel - step, channel + step)
    own, across = (_wave(name, angles) for name in recipe.waves)
    result = np.zeros((count, dim, dim))
    result[:, channel, channel] = own
    result[:, channel, partner] += np.where(second, recipe.signs[1], recipe.signs[0]) * across
    if recipe.in_place:
        behind = channel[second]
        result[:, behind] = (
            own[:, behind, None] * np.eye(dim)[behind] + across[:, behind, None] * result[:, partner[behind]]
        )
    return result
