"""Mistakes in sine and cosine, and in how a pair is rotated."""

from __future__ import annotations

from posenc.diagnosis.code.recipe import Recipe
from posenc.diagnosis.code.recipe_changes import function_negated, functions_swapped, other_layout
from posenc.diagnosis.mistake import Mistake, setting, with_fields

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
