"""Mistakes in a user's table or rotation: frequencies, sines and cosines, positions, types and ends of tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from posenc.core.rotation import PairLayout
from posenc.diagnosis.code.observed_values import ObservedValues
from posenc.diagnosis.code.recipe import Door, Recipe
from posenc.diagnosis.mistake import Change, Mistake, Words, fewest_digits, setting, with_fields
from posenc.inspect.rounding import NARROW_TYPES

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
    """Yield frequencies laid out for the other pairing than the one that the pairs have."""
    words = {"adjacent": "side by side", "halves": "half a width apart"}
    order: PairLayout = "halves" if recipe.frequency_order == "adjacent" else "adjacent"
    changed = replace(recipe, frequency_order=order)
    yield changed, {"frequencies": words[order], "pairs": words[recipe.pair_order]}


def other_layout(names: Mapping[str, str]) -> Change[Recipe]:
    """Pairs and their frequencies both laid out the other way; `names` are those of the two layouts."""

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
    """Frequencies by exp of a logarithm to another base than e."""
    return lambda recipe, observed: [(replace(recipe, base=recipe.base ** (1 / math.log(base))), {})]


def other_base(recipe: Recipe, observed: ObservedValues) -> Changes:
    """Yield the base read off the frequency of the second pair."""
    frequency = second_frequency(recipe, observed)
    if frequency is not None and 0.0 < frequency < math.pi:
        with np.errstate(all="ignore"):
            base = np.exp(-math.log(frequency) / np.float64(_second_exponent(recipe, observed.dim)))
        if 0.0 < base < 1e30:
            base = fewest_digits(float(base))
            yield replace(recipe, base=base), {"base": base}


def fixed_width(recipe: Recipe, observed: ObservedValues) -> Changes:
    """Yield the hard-coded width in the exponent, read off the frequency of the second pair."""
    frequency = second_frequency(recipe, observed)
    if frequency is not None and 0.0 < frequency < 1.0 and recipe.rule == "2i/d":
        width = round(-2 * math.log(recipe.base) / math.log(frequency))
        likely = width in WIDTHS or (width % 4 == 0 and 4 <= width <= 8192)
        if likely and width != observed.dim:
            yield replace(recipe, fixed_width=width), {"width": width}


def values_scaled(recipe: Recipe, observed: ObservedValues) -> Changes:
    """Yield the factor of all values, fitted to positions below 50 by least squares."""
    expected = recipe.values(observed.positions, observed.dim)
    near = observed.positions < 50
    expected, received = expected[near], observed.values[near]
    size = float((expected * expected).sum())
    factor = float((expected * received).sum()) / size if size else 0.0
    if math.isfinite(factor) and abs(factor) > 1e-6:
        factor = fewest_digits(factor)
        yield replace(recipe, scale=recipe.scale * factor), {"factor": factor}


def angles_scaled(recipe: Recipe, observed: ObservedValues) -> Changes:
    """Yield the factor of all angles, read off the frequency of the second pair."""
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
    """Build the mistake of a table that ends at a likely length; `beyond` says what later positions get."""

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
    """First channel of the second pair."""
    return int(np.flatnonzero(~recipe.second_of_pair(dim))[1])


def _second_exponent(recipe: Recipe, dim: int) -> float:
    """Exponent x for which the frequency of the second pair is base^-x."""
    by_e = replace(recipe, base=math.e, angle_factor=1.0).frequencies(dim)
    return -float(np.log(by_e[_second_channel(recipe, dim)]))


_FORMULA = "The exponent is 2i/d, where i = 0, 1, ... d/2-1 counts pairs: channels 2i and 2i+1 share it."

FREQUENCY: tuple[Mistake[Recipe], ...] = (
    Mistake("pairs mixed", "Frequencies right, pairs mixed: the frequencies lie {frequencies}, the pairs {pairs}.",
            "Lay both out alike: frequencies repeated each twice (w0, w0, w1, w1, ...) for adjacent pairs, or the "
            "whole list twice (w0, w1, ..., w0, w1, ...) for halves.", orders_mixed),
    Mistake("exponent i/d",
            "The exponent is i/d in place of 2i/d: every frequency is the square root of what it should be.",
            _FORMULA, other_rule("i/d")),
    Mistake("cosine exponent",
            "The odd channels use (2i+1)/d: the exponent was computed from the channel's own number.",
            "Give the cosine the sine's frequency: use 2*(c//2)/d for channel c.", other_rule("c/d")),
    Mistake("i is the channel",
            "The exponent is 2c/d with c the number of the channel, where i must be the number of the pair.",
            "Use 2*(c//2)/d for channel c: 'i' in the formula counts pairs.", other_rule("2c/d")),
    Mistake("exponent doubled", "The exponent is 4i/d: i already runs in steps of two, and is doubled once more.",
            "With i from range(0, d, 2) write i/d, or let i count pairs and write 2i/d.", other_rule("4i/d")),
    Mistake("exponent not divided", "The exponent is 2i: the division by d is missing.", _FORMULA, other_rule("2i")),
    Mistake("exponent not divided", "The exponent is i: the division by d is missing.", _FORMULA, other_rule("i")),
    Mistake("integer division",
            "The exponent is always 0, so every pair rotates at one frequency: 2i//d divides whole numbers.",
            "Write 2*i/d with one slash.", other_rule("2i//d")),
    Mistake("pairs counted from 1", "The exponent is 2(i+1)/d: pairs are counted from 1.",
            "Count pairs from 0: the first has exponent 0 and frequency 1.", other_rule("2(i+1)/d")),
    Mistake("divided by d-1", "The exponent is 2i/(d-1).", _FORMULA, other_rule("2i/(d-1)")),
    Mistake("divided by d-2",
            "The exponent is i/(d/2-1), that of tensor2tensor, where 2i/d is meant.",
            _FORMULA, other_rule("i/(d/2-1)")),
    Mistake("operators bind", "pos / base ** 2*i/d was computed as ((pos / base**2) * i) / d.",
            "Put the exponent in brackets: pos / base ** (2*i/d).", other_rule("p/b^2*i/d")),
    Mistake("operators bind", "pos / base ** (2*i) / d was computed as (pos / base**(2*i)) / d.",
            "Put the whole exponent in brackets: pos / base ** (2*i/d).", other_rule("p/b^(2i)/d")),
    Mistake("multiplied, not raised",
            "The position is divided by base and multiplied by 2i/d: base was not raised to a power.",
            "Write pos / base ** (2*i/d).", other_rule("p/b*2i/d")),
    Mistake("position raised too", "(pos/base)^(2i/d): the position was raised to the power as well.",
            "Write pos / (base ** (2*i/d)).", other_rule("(p/b)^(2i/d)")),
    Mistake("inverse frequencies", "The frequencies are base^(+2i/d): they grow where they should fall.",
            "Divide by base ** (2*i/d), or give the exponent a minus sign.", other_rule("-2i/d")),
    Mistake("evenly spaced",
            "The frequencies are evenly spaced from 1 to 1/base; they should fall by one factor from pair to pair.",
            "Use base ** (-2*i/d): a geometric progression.", other_rule("linear")),
    Mistake("order reversed", "The frequencies are right and stand in the reverse order.",
            "The first pair is the fastest: frequency 1.", setting(in_reverse=True)),
    Mistake("logarithm to base 10", "exp was taken of a logarithm to base 10.",
            "exp needs the natural logarithm: math.log(base).", other_logarithm(10.0)),
    Mistake("logarithm to base 2", "exp was taken of a logarithm to base 2.",
            "exp needs the natural logarithm: math.log(base).", other_logarithm(2.0)),
)  # fmt: skip


_ROTATION = "(a, b) becomes (a cos - b sin, a sin + b cos)."

SWAPPED: Mistake[Recipe] = Mistake(
    "sine and cosine swapped", "Sine and cosine are swapped.", "Sine goes to channel 2i, cosine to channel 2i+1.",
    functions_swapped,
)  # fmt: skip

#: Of tables that are added.
SINUSOIDS: tuple[Mistake[Recipe], ...] = (
    Mistake("layout", "Sines and cosines are {got} where {meant} is meant.",
            "Lay them out {meant}; if {got} is meant, check against Sinusoidal(layout='{got}').",
            other_layout({"adjacent": "interleaved", "halves": "concatenated"})),
    SWAPPED,
    Mistake("sine alone", "Every channel is a sine.", "Odd channels (or the second half) take the cosine.",
            lambda recipe, observed: [(with_fields(recipe, functions=("sine", "sine")), {})]),
    Mistake("cosine alone", "Every channel is a cosine.", "Even channels (or the first half) take the sine.",
            lambda recipe, observed: [(with_fields(recipe, functions=("cosine", "cosine")), {})]),
    Mistake("sign", "The sines have the wrong sign.", "sin(pos * frequency) is positive for small positions.",
            function_negated("sine")),
    Mistake("sign", "The cosines have the wrong sign.", "cos(0) is 1.", function_negated("cosine")),
)  # fmt: skip

#: Of rotations.
ROTATIONS: tuple[Mistake[Recipe], ...] = (
    Mistake("layout", "Channels are paired {got} where {meant} is meant.",
            "Pair them {meant}; if {got} is what the weights were trained with, check against RoPE(pairing='{got}').",
            other_layout({"adjacent": "adjacent", "halves": "halves"})),
    SWAPPED,
    Mistake("rotation backwards", "It rotates the wrong way: the sign of the sine is flipped.", _ROTATION,
            setting(signs=(-1.0, -1.0))),
    Mistake("minus missing",
            "The minus sign is missing: (a cos + b sin, a sin + b cos) is no rotation, and lengths change.",
            _ROTATION, setting(signs=(-1.0, 1.0))),
    Mistake("two minus signs",
            "Both lines have a minus sign: (a cos - b sin, b cos - a sin) is no rotation, and lengths change.",
            _ROTATION, setting(signs=(1.0, -1.0))),
    Mistake("overwritten", "The second line reads the first channel after it was overwritten: lengths change.",
            "Keep a copy of the first channel (x1 = x[..., 0::2].copy()), or build a new array.",
            setting(overwritten=True)),
    Mistake("partner missing",
            "x cos + x sin: the sine multiplies the channel itself, where it belongs to its partner.", _ROTATION,
            setting(pairs_itself=True, signs=(-1.0, 1.0))),
)  # fmt: skip


_ANGLE = "Leave it out: the formula has pos / base^(2i/d), in radians."
_FIRST_PAIR = "The first pair has frequency 1."
_LENGTH = "Use the position itself."
_TABLE = "Make the table longer, or raise an error past its end."
_WIDE_ANGLES = "Form angles in float32 or wider; round the finished values."
_WIDE_FREQUENCIES = "Form frequencies and angles in float32 or wider; round the finished values."
_WHOLE_POSITIONS = "Build positions as integers and form angles in float32 or wider."

POSITION: tuple[Mistake[Recipe], ...] = (
    Mistake("off by one", "Positions start at 1.", "The first token is at position 0.", positions_shifted(1)),
    Mistake("off by one", "Positions start at -1.", "The first token is at position 0.", positions_shifted(-1)),
    Mistake("position unused", "Every position gets the same values: the position does not enter.",
            "Multiply the frequency by the position.", setting(angle_factor=0.0)),
    Mistake("degrees",
            "Angles were converted to degrees (times 180/π) before sin and cos, which take radians.",
            "Leave the angle as it is.", setting(angle_factor=180 / math.pi)),
    Mistake("degrees", "Angles were taken for degrees (times π/180).", "Leave the angle as it is: it is in radians.",
            setting(angle_factor=math.pi / 180)),
    Mistake("times 2π", "Angles were multiplied by 2π.", _ANGLE, setting(angle_factor=2 * math.pi)),
    Mistake("divided by 2π", "Angles were divided by 2π.", _ANGLE, setting(angle_factor=1 / (2 * math.pi))),
    Mistake("times π", "Angles were multiplied by π.", _ANGLE, setting(angle_factor=math.pi)),
    Mistake("frequencies doubled", "Every frequency is twice what it should be.",
            "The factor 2 belongs in the exponent alone.", setting(angle_factor=2.0), topic="angles"),
    Mistake("positions ignored", "Positions are counted 0, 1, 2, ..., whatever positions are given.",
            "Use the positions that are given, in place of arange(length): with a cache and with padding they differ.",
            setting(counted=True), alone=True),
    Mistake("frequencies halved", "Every frequency is half of what it should be.", _FIRST_PAIR,
            setting(angle_factor=0.5)),
    Mistake("position divided by the length",
            "Positions are divided by the length, so one position gets other values in a longer text.", _LENGTH,
            positions_by_length(0)),
    Mistake("position divided by the length",
            "Positions are divided by length-1, so one position gets other values in a longer text.", _LENGTH,
            positions_by_length(1)),
    Mistake("fixed width", "The exponent divides by {width}, whatever the width is.",
            "Divide by d, the width that was asked for.", fixed_width),
    Mistake("base", "The base is {base:.10g}.",
            "Use the base that was asked for; if this one is meant, ask for it: base {base:.10g}.", other_base),
    Mistake("frequencies scaled", "Every frequency is {factor:.6g} times what it should be.", _FIRST_PAIR,
            angles_scaled),
    Mistake("values scaled", "Every value is {factor:.6g} times what it should be.",
            "Leave the factor out; sqrt(d) belongs to the token's embedding.", values_scaled),
    Mistake("whole numbers", "Values were cut to whole numbers: the table holds integers.",
            "Make the table of floats: numpy.zeros(shape, dtype=float).", setting(whole=True)),
    *(Mistake("16-bit positions",
              f"Positions were rounded to {dtype}, which does not hold every whole number above {most}.",
              _WHOLE_POSITIONS, setting(rounded=("positions",), dtype=dtype))
      for dtype, most in (("bfloat16", 256), ("float16", 2048))),
    *(Mistake("16-bit frequencies",
              "Frequencies were rounded to {dtype}, so the angle drifts as the position grows.", _WIDE_FREQUENCIES,
              setting(rounded=("frequencies",), dtype=dtype)) for dtype in NARROW_TYPES),
    *(Mistake("16-bit angles", "Angles were rounded to {dtype}.", _WIDE_ANGLES, setting(rounded=rounded, dtype=dtype))
      for dtype in NARROW_TYPES for rounded in (("angles",), ("positions", "frequencies", "angles"))),
    *(Mistake("16-bit angles",
              "Positions, frequencies, angles, cosines and sines are in {dtype}: the whole module was cast.",
              "Keep frequencies in float32: exempt them from .bfloat16() and .half(), and form angles in float32.",
              setting(rounded=("positions", "frequencies", "angles", "values"), dtype=dtype))
      for dtype in NARROW_TYPES),
    Mistake("table too short", "Positions from {length} on all get the values of position {last}, without a word.",
            _TABLE, recipe_table_end("stay"), alone=True),
    Mistake("table too short", "Positions start again at 0 after {last}, without a word.", _TABLE,
            recipe_table_end("repeat"), alone=True),
    Mistake("table too short", "Positions from {length} on get zeros, without a word.", _TABLE,
            recipe_table_end("zero"), alone=True),
)  # fmt: skip


#: Of rotations: before frequencies that are doubled, whose numbers are the same.
TWICE: Mistake[Recipe] = Mistake(
    "rotated twice", "Every vector is rotated by twice its angle: it is rotated twice, or every frequency is doubled.",
    "Rotate once, in the projection or in the attention; the factor 2 belongs in the exponent alone.",
    setting(angle_factor=2.0), topic="angles",
)  # fmt: skip

#: In the order of the search: the likelier before the stranger, what is read off the values after what is not.
BY_DOOR: Mapping[Door, tuple[Mistake[Recipe], ...]] = {
    "adds": (*FREQUENCY, *SINUSOIDS, *POSITION),
    "rotates": (*FREQUENCY, *ROTATIONS, TWICE, *(one for one in POSITION if one.name != "frequencies doubled")),
}
