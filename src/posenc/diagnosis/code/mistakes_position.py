"""Mistakes in positions, angles, sizes, types and the ends of tables."""

from __future__ import annotations

import math

from posenc.diagnosis.code.recipe_changes import (
    Mistake,
    by_length,
    ending,
    fixed_width,
    other_base,
    scaled,
    setting,
    shifted,
    turned,
)

_SIZES = (16, 32, 64, 100, 128, 200, 256, 500, 512, 1000, 1024, 2000, 2048, 4096, 5000, 8192)


PLACE: tuple[Mistake, ...] = (
    Mistake("off by one", "Positions start at 1.", "The first token is at position 0.", shifted(1)),
    Mistake("off by one", "Positions start at -1.", "The first token is at position 0.", shifted(-1)),
    Mistake(
        "position unused",
        "Every position gets the same values: the position does not enter.",
        "Multiply the frequency by the position.",
        setting(turns=0.0),
    ),
    Mistake(
        "degrees",
        "Angles were turned into degrees (times 180/π) before sin and cos, which take radians.",
        "Leave the angle as it is.",
        setting(turns=180 / math.pi),
    ),
    Mistake(
        "degrees",
        "Angles were taken for degrees (times π/180).",
        "Leave the angle as it is: it is in radians.",
        setting(turns=math.pi / 180),
    ),
    Mistake(
        "times 2π",
        "Angles were multiplied by 2π.",
        "Leave it out: the formula has pos / base^(2i/d), in radians.",
        setting(turns=2 * math.pi),
    ),
    Mistake(
        "divided by 2π",
        "Angles were divided by 2π.",
        "Leave it out: the formula has pos / base^(2i/d), in radians.",
        setting(turns=1 / (2 * math.pi)),
    ),
    Mistake(
        "times π",
        "Angles were multiplied by π.",
        "Leave it out: the formula has pos / base^(2i/d), in radians.",
        setting(turns=math.pi),
    ),
    Mistake(
        "frequencies doubled",
        "Every frequency is twice what it should be.",
        "The factor 2 belongs in the exponent alone.",
        setting(turns=2.0),
    ),
    Mistake(
        "frequencies halved",
        "Every frequency is half of what it should be.",
        "The first pair has frequency 1.",
        setting(turns=0.5),
    ),
    Mistake(
        "position divided by the length",
        "Positions are divided by the length, so one place gets other values in a longer text.",
        "Use the position itself.",
        by_length(0),
    ),
    Mistake(
        "position divided by the length",
        "Positions are divided by length-1, so one place gets other values in a longer text.",
        "Use the position itself.",
        by_length(1),
    ),
    Mistake(
        "fixed width",
        "The exponent divides by {fixed}, whatever the width is.",
        "Divide by d, the width that was asked for.",
        fixed_width,
    ),
    Mistake(
        "base",
        "The base is {base:.10g}.",
        "Use the base that was asked for; if this one is meant, say so with --base {base:.10g}.",
        other_base,
    ),
    Mistake(
        "frequencies scaled",
        "Every frequency is {turns:.6g} times what it should be.",
        "The first pair has frequency 1.",
        turned,
    ),
    Mistake(
        "values scaled",
        "Every value is {scale:.6g} times what it should be.",
        "Leave the factor out; sqrt(d) belongs to the token's embedding.",
        scaled,
    ),
    Mistake(
        "whole numbers",
        "Values were cut to whole numbers: the table holds integers.",
        "Make the table of floats: numpy.zeros(shape, dtype=float).",
        setting(whole=True),
    ),
    *(
        Mistake(
            "16-bit positions",
            f"Positions were rounded to {to}, which does not hold every whole number above {most}.",
            "Build positions as integers and form angles in float32 or wider.",
            setting(rounded=("positions",), to=to),
        )
        for to, most in (("bfloat16", 256), ("float16", 2048))
    ),
    *(
        Mistake(
            "16-bit frequencies",
            f"Frequencies were rounded to {to}, so the angle drifts as the position grows.",
            "Form frequencies and angles in float32 or wider; round the finished values.",
            setting(rounded=("rates",), to=to),
        )
        for to in ("bfloat16", "float16")
    ),
    *(
        Mistake(
            "16-bit angles",
            f"Angles were rounded to {to}.",
            "Form angles in float32 or wider; round the finished values.",
            setting(rounded=parts, to=to),
        )
        for to in ("bfloat16", "float16")
        for parts in (("angles",), ("positions", "rates", "angles"))
    ),
    *(
        Mistake(
            "table too short",
            f"Positions from {limit} on all get the values of position {limit - 1}, without a word.",
            "Make the table longer, or raise an error past its end.",
            ending("clamp", limit),
        )
        for limit in _SIZES
    ),
    *(
        Mistake(
            "table too short",
            f"Positions start again at 0 after {limit - 1}, without a word.",
            "Make the table longer, or raise an error past its end.",
            ending("wrap", limit),
        )
        for limit in _SIZES
    ),
    *(
        Mistake(
            "table too short",
            f"Positions from {limit} on get zeros, without a word.",
            "Make the table longer, or raise an error past its end.",
            ending("zero", limit),
        )
        for limit in _SIZES
    ),
)
