"""Mistakes in sine and cosine, and in how a pair is rotated."""

from __future__ import annotations

from dataclasses import replace

from posenc.diagnosis.code.recipe_changes import Mistake, setting

WAVE: tuple[Mistake, ...] = (
    Mistake(
        "sine and cosine swapped",
        "Sine and cosine are swapped.",
        "Sine goes to channel 2i, cosine to channel 2i+1.",
        lambda recipe, observed: replace(recipe, waves=recipe.waves[::-1]),
    ),
    Mistake(
        "sine alone",
        "Every channel is a sine.",
        "Odd channels (or the second half) take the cosine.",
        setting(waves=("sine", "sine")),
        ("adds",),
    ),
    Mistake(
        "cosine alone",
        "Every channel is a cosine.",
        "Even channels (or the first half) take the sine.",
        setting(waves=("cosine", "cosine")),
        ("adds",),
    ),
    Mistake(
        "sign",
        "The sines have the wrong sign.",
        "sin(pos * frequency) is positive for small positions.",
        setting(signs=(-1.0, 1.0)),
        ("adds",),
    ),
    Mistake("sign", "The cosines have the wrong sign.", "cos(0) is 1.", setting(signs=(1.0, -1.0)), ("adds",)),
    Mistake(
        "rotation backwards",
        "The rotation turns the wrong way: the sign of the sine is flipped.",
        "(a, b) becomes (a cos - b sin, a sin + b cos).",
        setting(signs=(1.0, -1.0)),
        ("rotates",),
    ),
    Mistake(
        "minus missing",
        "The minus sign is missing: (a cos + b sin, a sin + b cos) is no rotation, and lengths change.",
        "(a, b) becomes (a cos - b sin, a sin + b cos).",
        setting(signs=(1.0, 1.0)),
        ("rotates",),
    ),
    Mistake(
        "two minus signs",
        "Both lines have a minus sign: (a cos - b sin, b cos - a sin) is no rotation, and lengths change.",
        "(a, b) becomes (a cos - b sin, a sin + b cos).",
        setting(signs=(-1.0, -1.0)),
        ("rotates",),
    ),
    Mistake(
        "overwritten",
        "The second line reads the first channel after it was overwritten: lengths change.",
        "Keep a copy of the first channel (x1 = x[..., 0::2].copy()), or build a new array.",
        setting(in_place=True),
        ("rotates",),
    ),
    Mistake(
        "partner missing",
        "x cos + x sin: the sine multiplies the channel itself, where it belongs to its partner.",
        "(a, b) becomes (a cos - b sin, a sin + b cos).",
        setting(alone=True, signs=(1.0, 1.0)),
        ("rotates",),
    ),
)
