"""What a mistake is, and the ways in which a recipe is changed by one.

`change` gives the recipe with the mistake in it, or None where it does not apply. Where a number belongs to the mistake
(another base, a factor), it is first read off the values received.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc.diagnosis.code.recipe import Door, Recipe, evaluate, rates, second_of_pair


@dataclass(frozen=True, eq=False)
class Observed:
    """What a function gave: a table (n, dim) or rotations (n, dim, dim) at positions (n,), as float64.

    dtype: the name of the type it came in.   length: how many positions it was asked for at once, 0 when one by one.
    """

    door: Door
    positions: np.ndarray
    values: np.ndarray
    dtype: str = "float64"
    length: int = 0

    @property
    def dim(self) -> int:
        return int(self.values.shape[-1])


Change = Callable[[Recipe, Observed], Recipe | None]


@dataclass(frozen=True)
class Mistake:
    """One way to get it wrong. `sentence` and `fix` may name fields of the recipe in braces."""

    name: str
    sentence: str
    fix: str
    change: Change
    doors: tuple[Door, ...] = ("adds", "rotates")


def setting(**fields: Any) -> Change:
    """The change that sets these fields, whatever was received."""
    return lambda recipe, observed: replace(recipe, **fields)


def other_rate(rule: str) -> Change:
    """Another rule for the rate, in place of 2i/d."""
    return lambda recipe, observed: replace(recipe, rate=rule) if recipe.rate == "2i/d" and observed.dim > 3 else None


def shifted(by: int) -> Change:
    """Positions counted from elsewhere."""
    return lambda recipe, observed: replace(recipe, start=recipe.start + by)


def mixed(recipe: Recipe, observed: Observed) -> Recipe:
    """Frequencies laid out otherwise than the pairs."""
    return replace(recipe, frequencies="halves" if recipe.frequencies == "adjacent" else "adjacent")


def other_base(recipe: Recipe, observed: Observed) -> Recipe | None:
    """The base that the second pair shows."""
    rate = first_rate(recipe, observed)
    if rate is None or not 0.0 < rate < math.pi:
        return None
    with np.errstate(all="ignore"):
        base = np.exp(-math.log(rate) / np.float64(_second_exponent(recipe, observed.dim)))
    return replace(recipe, base=rounded_off(float(base))) if 0.0 < base < 1e30 else None


def fixed_width(recipe: Recipe, observed: Observed) -> Recipe | None:
    """The width in the exponent that the second pair shows."""
    rate = first_rate(recipe, observed)
    if rate is None or not 0.0 < rate < 1.0 or recipe.rate != "2i/d":
        return None
    width = round(-2 * math.log(recipe.base) / math.log(rate))
    plain = width in (6, 10, 20, 100, 200, 300, 1000) or (width >= 4 and width % 4 == 0 and width <= 8192)
    return replace(recipe, fixed=width) if plain and width != observed.dim else None


def scaled(recipe: Recipe, observed: Observed) -> Recipe | None:
    """The factor that the values show."""
    expected = evaluate(recipe, observed.positions, observed.dim)
    near = observed.positions < 50
    expected, received = expected[near], observed.values[near]
    size = float((expected * expected).sum())
    factor = float((expected * received).sum()) / size if size else 0.0
    return (
        replace(recipe, scale=recipe.scale * rounded_off(factor))
        if math.isfinite(factor) and abs(factor) > 1e-6
        else None
    )


def turned(recipe: Recipe, observed: Observed) -> Recipe | None:
    """The factor that the second pair shows."""
    rate = first_rate(recipe, observed)
    if rate is None or rate <= 0.0:
        return None
    rate_meant = float(rates(recipe, observed.dim)[_second_channel(recipe, observed.dim)])
    return replace(recipe, turns=rounded_off(rate / rate_meant)) if rate_meant else None


def by_length(less: int) -> Change:
    """Positions divided by the length, or by one less."""
    return lambda recipe, observed: (
        replace(recipe, turns=1.0 / (observed.length - less)) if observed.length > 1 else None
    )


def ending(beyond: str, limit: int) -> Change:
    """A table that ends, and what it then does."""
    return lambda recipe, observed: (
        replace(recipe, beyond=beyond, limit=limit) if limit <= observed.positions.max() else None
    )


def first_rate(recipe: Recipe, observed: Observed) -> float | None:
    """The rate of the second pair as the values at position 1 show it; None where they do not."""
    row = np.flatnonzero(observed.positions == 1)
    if not row.size or observed.dim < 4:
        return None
    channel, values = _second_channel(recipe, observed.dim), observed.values[row[0]]
    value = float(values[channel] if observed.door == "adds" else values[channel, channel])
    wave = recipe.waves[0]
    if not -1.0 <= value <= 1.0:
        return None
    return math.asin(value) if wave == "sine" else math.acos(value)


def rounded_off(number: float) -> float:
    """The number with the fewest digits that is as good as this one."""
    for digits in range(1, 7):
        short = float(f"{number:.{digits}g}")
        if abs(short - number) <= 3e-5 * abs(number):
            return short
    return number


def _second_channel(recipe: Recipe, dim: int) -> int:
    """The first channel of the pair number 1."""
    first = np.flatnonzero(~second_of_pair(recipe.pairs, dim))
    return int(first[1])


def _second_exponent(recipe: Recipe, dim: int) -> float:
    """How often the base divides the rate of the second pair."""
    return -float(np.log(rates(replace(recipe, base=math.e, turns=1.0), dim)[_second_channel(recipe, dim)]))
