"""The only place where positions are multiplied by frequencies; which frequencies is decided in `frequencies`.

Everything that turns, waves or decays with position passes through here, so that exactness is settled once:
`phase` gives the angle as a whole number of 2^-170 turns, `cosine_sine` what encodings are made of.
"""

from posenc.phase.cos_sin import Numerics, cos_sin, cos_sin_of_sum, cosine_sine, product_dtype
from posenc.phase.fixed_frequencies import (
    FixedFrequencies,
    FixedSinusoids,
    along_one,
    fixed_frequencies_of,
    fixed_sinusoids_of,
    frequency_limbs,
    frequency_words,
)
from posenc.phase.fixed_point import Phase, phase, turn_words
from posenc.phase.frequencies import Frequencies
from posenc.phase.learned_frequencies import cos_sin_of_learned, learned_gradients
from posenc.phase.matrix_exponential import exponential
from posenc.phase.powers import power_of_two

__all__ = [
    "FixedFrequencies",
    "FixedSinusoids",
    "Frequencies",
    "Numerics",
    "Phase",
    "along_one",
    "cos_sin",
    "cos_sin_of_learned",
    "cos_sin_of_sum",
    "cosine_sine",
    "exponential",
    "fixed_frequencies_of",
    "fixed_sinusoids_of",
    "frequency_limbs",
    "frequency_words",
    "learned_gradients",
    "phase",
    "power_of_two",
    "product_dtype",
    "turn_words",
]
