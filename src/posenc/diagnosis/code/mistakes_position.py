"""Mistakes in positions, angles, sizes, types and the ends of tables."""

from __future__ import annotations

import math

from posenc.diagnosis.code.recipe import Recipe
from posenc.diagnosis.code.recipe_changes import (
    angles_scaled,
    fixed_width,
    other_base,
    positions_by_length,
    positions_shifted,
    recipe_table_end,
    values_scaled,
)
from posenc.diagnosis.mistake import Mistake, setting

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
            "The factor 2 belongs in the exponent alone.", setting(angle_factor=2.0)),
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
    Mistake("16-bit positions",
            "Positions were rounded to bfloat16, which does not hold every whole number above 256.", _WHOLE_POSITIONS,
            setting(rounded=("positions",), dtype="bfloat16")),
    Mistake("16-bit positions",
            "Positions were rounded to float16, which does not hold every whole number above 2048.", _WHOLE_POSITIONS,
            setting(rounded=("positions",), dtype="float16")),
    Mistake("16-bit frequencies",
            "Frequencies were rounded to {dtype}, so the angle drifts as the position grows.", _WIDE_FREQUENCIES,
            setting(rounded=("frequencies",), dtype="bfloat16")),
    Mistake("16-bit frequencies",
            "Frequencies were rounded to {dtype}, so the angle drifts as the position grows.", _WIDE_FREQUENCIES,
            setting(rounded=("frequencies",), dtype="float16")),
    Mistake("16-bit angles", "Angles were rounded to {dtype}.", _WIDE_ANGLES,
            setting(rounded=("angles",), dtype="bfloat16")),
    Mistake("16-bit angles", "Angles were rounded to {dtype}.", _WIDE_ANGLES,
            setting(rounded=("positions", "frequencies", "angles"), dtype="bfloat16")),
    Mistake("16-bit angles", "Angles were rounded to {dtype}.", _WIDE_ANGLES,
            setting(rounded=("angles",), dtype="float16")),
    Mistake("16-bit angles", "Angles were rounded to {dtype}.", _WIDE_ANGLES,
            setting(rounded=("positions", "frequencies", "angles"), dtype="float16")),
    Mistake("table too short", "Positions from {length} on all get the values of position {last}, without a word.",
            _TABLE, recipe_table_end("stay"), alone=True),
    Mistake("table too short", "Positions start again at 0 after {last}, without a word.", _TABLE,
            recipe_table_end("repeat"), alone=True),
    Mistake("table too short", "Positions from {length} on get zeros, without a word.", _TABLE,
            recipe_table_end("zero"), alone=True),
)  # fmt: skip
