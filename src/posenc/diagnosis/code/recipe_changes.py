"""How mistakes change a recipe. A number that belongs to a mistake is first read off the values observed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from posenc.core.rotation import PairLayout
from posenc.diagnosis.code.observed_values import ObservedValues
from posenc.diagnosis.code.recipe import Recipe
from posenc.diagnosis.mistake import Change, Words, fewest_digits

Changes = Iterator[tuple[Recipe | None, Words]]
#: Widths, besides multiples of four, that are written into code in place of the one asked for.
WIDTHS = (6, 10, 20, 100, 200, 300, 1000)
#: Rows of tables that end.
LENGTHS = (16, 32, 64, 100, 128, 200, 256, 500, 512, 1000, 1024, 2000, 2048, 4096, 5000, 8192)


def other_rule(rule: str) -> Change[Recipe]:
    """Another rule for the frequencies, in place of 2i/d."""
    return lambda recipe, observed: (
        [(replace(recipe, rule=rule), {})] if recipe.rule == "2i/d" and observed.dim > 3 else []
    )


def positions_shifted(by: int) -> Change[Recipe]:
    """Positions counted from elsewhere."""
    return lambda recipe, observed: [(replace(recipe, start=recipe.start + by), {})]


def orders_mixed(recipe: Recipe, observed: ObservedValues) -> Changes:
    """Frequencies laid out otherwise than the pairs."""
    words = {"adjacent": "side by side", "halves": "half a width apart"}
    order: PairLayout = "halves" if recipe.frequency_order == "adjacent" else "adjacent"
    changed = replace(recipe, frequency_order=order)
    yield changed, {"frequencies": words[order], "pairs": words[recipe.pair_order]}


def other_layout(names: Mapping[str, str]) -> Change[Recipe]:
    """Pairs and their frequencies both laid out the other way;

    Args:
        names: Of the two orders.
    """

    def change(recipe: Recipe, observed: ObservedValues) -> Changes:
        order: PairLayout = "halves" if recipe.pair_order == "adjacent" else "adjacent"
        if recipe.pair_order == recipe.frequency_order:
            words = {"got": names[order], "meant": names[recipe.pair_order]}
            yield replace(recipe, frequency_order=order, pair_order=order), words

    return change


def functions_swapped(recipe: Recipe, observed: ObservedValues) -> Changes:
    yield replace(recipe, functions=recipe.functions[::-1]), {}


def function_negated(function: str) -> Change[Recipe]:
    """Sines, or cosines, with the opposite sign."""

    def change(recipe: Recipe, observed: ObservedValues) -> Changes:
        first, second = (-1.0 if name == function else 1.0 for name in recipe.functions)
        yield replace(recipe, signs=(first, second)), {}

    return change


def other_logarithm(base: float) -> Change[Recipe]:
    """exp of a logarithm to another base than e."""
    return lambda recipe, observed: [(replace(recipe, base=recipe.base ** (1 / math.log(base))), {})]


def other_base(recipe: Recipe, observed: ObservedValues) -> Changes:
    """The base that the second pair shows."""
    frequency = second_frequency(recipe, observed)
    if frequency is not None and 0.0 < frequency < math.pi:
        with np.errstate(all="ignore"):
            base = np.exp(-math.log(frequency) / np.float64(_second_exponent(recipe, observed.dim)))
        if 0.0 < base < 1e30:
            base = fewest_digits(float(base))
            yield replace(recipe, base=base), {"base": base}


def fixed_width(recipe: Recipe, observed: ObservedValues) -> Changes:
    """The width in the exponent that the second pair shows."""
    frequency = second_frequency(recipe, observed)
    if frequency is not None and 0.0 < frequency < 1.0 and recipe.rule == "2i/d":
        width = round(-2 * math.log(recipe.base) / math.log(frequency))
        likely = width in WIDTHS or (width % 4 == 0 and 4 <= width <= 8192)
        if likely and width != observed.dim:
            yield replace(recipe, fixed_width=width), {"width": width}


def values_scaled(recipe: Recipe, observed: ObservedValues) -> Changes:
    """The factor that the values show."""
    expected = recipe.values(observed.positions, observed.dim)
    near = observed.positions < 50
    expected, received = expected[near], observed.values[near]
    size = float((expected * expected).sum())
    factor = float((expected * received).sum()) / size if size else 0.0
    if math.isfinite(factor) and abs(factor) > 1e-6:
        factor = fewest_digits(factor)
        yield replace(recipe, scale=recipe.scale * factor), {"factor": factor}


def angles_scaled(recipe: Recipe, observed: ObservedValues) -> Changes:
    """The factor that the second pair shows."""
    frequency = second_frequency(recipe, observed)
    expected = float(recipe.frequencies(observed.dim)[_second_channel(recipe, observed.dim)])
    if frequency and expected:
        factor = fewest_digits(frequency / expected)
        yield replace(recipe, angle_factor=factor), {"factor": factor}


def positions_by_length(less: int) -> Change[Recipe]:
    """Positions divided by the length, or by one less."""

    def change(recipe: Recipe, observed: ObservedValues) -> Changes:
        if observed.length > 1:
            yield replace(recipe, angle_factor=1.0 / (observed.length - less)), {}

    return change


def recipe_table_end(beyond: Any) -> Change[Recipe]:
    """A table that ends at any likely length that the positions pass, and what it then does."""

    def change(recipe: Recipe, observed: ObservedValues) -> Changes:
        for length in (length for length in LENGTHS if length <= observed.positions.max()):
            changed = replace(recipe, beyond=beyond, table_length=length)
            yield changed, {"length": length, "last": length - 1}

    return change


def second_frequency(recipe: Recipe, observed: ObservedValues) -> float | None:
    """The frequency of the second pair as the values at position 1 show it; None where they do not."""
    row = np.flatnonzero(observed.positions == 1)
    if not row.size or observed.dim < 4:
        return None
    channel, values = _second_channel(recipe, observed.dim), observed.values[row[0]]
    value = float(values[channel] if observed.door == "adds" else values[channel, channel])
    if not -1.0 <= value <= 1.0:
        return None
    return math.asin(value) if recipe.functions[0] == "sine" else math.acos(value)


def _second_channel(recipe: Recipe, dim: int) -> int:
    """The first channel of the pair number 1."""
    return int(np.flatnonzero(~recipe.second_of_pair(dim))[1])


def _second_exponent(recipe: Recipe, dim: int) -> float:
    """How often the base divides the frequency of the second pair."""
    by_e = replace(recipe, base=math.e, angle_factor=1.0).frequencies(dim)
    return -float(np.log(by_e[_second_channel(recipe, dim)]))
