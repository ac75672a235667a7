"""Claims that are numbers printed in the sources, computed again."""

from __future__ import annotations

import math

import numpy as np

from posenc import Sinusoidal
from posenc.lab.claims.claim import Computation, computed


@computed(
    statement="PE(3) at width 4 begins 0.1411, -0.9899.",
    sources=("lecture",),
    rule="cos 3 to four digits: supported if it is -0.9899.",
    note="cos 3 = -0.98999, which rounds to -0.9900.",
)
def printed_digits_of_the_lecture() -> Computation:
    """Cosine of 3."""
    return round(math.cos(3), 4) == -0.9899, {"cos 3": math.cos(3)}


@computed(
    statement="The sines of 2, 3 and 4 are 0.87, 0.19 and -0.90.",
    sources=("notes",),
    rule="The sines to two digits: each is supported if it is as printed.",
    note="None of the three printed values is the sine of its number.",
)
def printed_sines_of_the_notes() -> Computation:
    """Sines of 2, 3 and 4."""
    printed = {2: 0.87, 3: 0.19, 4: -0.90}
    figures = {f"sin {angle}": math.sin(angle) for angle in printed}
    parts = {f"sin {angle}": abs(math.sin(angle) - value) < 0.005 for angle, value in printed.items()}
    return parts, figures


@computed(
    statement="The value 0.85 gives the position of the word book, 2.",
    sources=("chapter",),
    rule="n^(2/d) · arccos 0.85 with n = 100 and d = 16: supported if it is 2 to a tenth.",
    note="The value stands in the row of the word before, and gives its position, 1.",
)
def position_of_book() -> Computation:
    """The worked inverse of the chapter."""
    position = float(100 ** (2 / 16) * np.arccos(0.85))
    return abs(position - 2) < 0.1, {"position": position}


@computed(
    statement="With d = 5120 and n = 10000, a value of 0.488814 at dimension 1088 was generated at k = 7.",
    sources=("chapter",),
    rule="The formula at k = 7: supported if it gives the printed value to six digits.",
    note="At k = 7 the stated formula gives 0.835. The printed value belongs to an exponent of i/d in place of 2i/d.",
)
def position_of_the_practice_question() -> Computation:
    """The practice question."""
    value = float(Sinusoidal(dim=5120).embed(np.array([7]))[0, 1088])
    other = float(np.sin(7 / 10000 ** (544 / 5120)))
    return abs(value - 0.488814) < 1e-6, {"at k = 7": value, "with exponent i/d": other}
