"""Mistakes in exponent, base and order of the frequencies."""

from __future__ import annotations

from posenc.diagnosis.code.recipe import Recipe
from posenc.diagnosis.code.recipe_changes import orders_mixed, other_logarithm, other_rule
from posenc.diagnosis.mistake import Mistake, setting

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
