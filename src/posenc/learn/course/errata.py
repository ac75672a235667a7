"""Errata of the sources: numbers that differ from what their formula gives, mentioned where the number comes up."""

from __future__ import annotations

from dataclasses import dataclass

from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.encodings.adds.divisor_pairs import DivisorPairs
from posenc.encodings.adds.one_sine import OneSine
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE


@dataclass(frozen=True)
class Erratum:
    """A difference between what a source prints and what is right.

    Attributes:
        source: The lecture, the article, the lesson, the notes or the chapter.
        printed: The print, in its words and ours.
        correct: The correction.
        encoding: Encoding of the table that it is about, where it is about one.
        position: Position in that table.
        dimension: Dimension in that table.
        read: (dimension, value) of a question that asks for the position.
    """

    source: str
    printed: str
    correct: str
    encoding: Encoding | None = None
    position: int | None = None
    dimension: int | None = None
    read: tuple[int, float] | None = None

    def line(self) -> str:
        """The erratum in a sentence.

        Returns:
            A line of text.
        """
        return f"Erratum ({self.source}): printed {self.printed}; correct is {self.correct}."


ERRATA: tuple[Erratum, ...] = (
    Erratum("the lecture", "cos 3 ≈ -0.9899 for PE(3, 1)", "-0.9900 (-0.98999)", Sinusoidal(dim=4), 3, 1),
    Erratum("the lecture", "a wavelength of n^(2i/d)", "the period 2π·n^(2i/d)"),
    Erratum(
        "the lecture, the article, the lesson",
        '"i is the dimension"',
        "that i is the index of the pair; the dimensions are 2i and 2i+1",
    ),
    Erratum(
        "the article", 'that dimension 0 is "exactly like the rightmost bit"', "that it has period 2π = 6.283, not 2"
    ),
    Erratum(
        "the article",
        '"the angle is independent of the content"',
        "that the rotation is; the angle between q and k is not",
    ),
    Erratum(
        "the article",
        "rotary code whose slices 0, 50, 99 stand for these positions",
        "that it starts at position 1: they are rotations by 1, 51, 100",
        RoPE(dim=128),
    ),
    Erratum("the article", 'that row 0 is "like 0000"', "that PE(0) = [0, 1, 0, 1, ...]"),
    Erratum(
        "the article",
        "‖q‖·‖k‖ as the similarity of tokens",
        "that similarity is in the angle; the product of the norms is a size",
    ),
    Erratum("the notes", "sin 2 = 0.87", "0.9093", OneSine(), 2, 0),
    Erratum("the notes", "sin 3 = 0.19", "0.1411", OneSine(), 3, 0),
    Erratum("the notes", "sin 4 = -0.90", "-0.7568", OneSine(), 4, 0),
    Erratum("the notes", "sin 2 = 0.71", "0.9093", DivisorPairs(divisors=(1.0,)), 2, 0),
    Erratum("the notes", "sin 3 = 0.19", "0.1411", DivisorPairs(divisors=(1.0,)), 3, 0),
    Erratum("the notes", "sin 4 = -0.90", "-0.7568", DivisorPairs(divisors=(1.0,)), 4, 0),
    Erratum("the notes", "cos 3 as a blank", "-0.9900", DivisorPairs(divisors=(1.0,)), 3, 1),
    Erratum("the notes", "cos 4 as a blank", "-0.6536", DivisorPairs(divisors=(1.0,)), 4, 1),
    Erratum('the notes, "bank"', "0.94 for PE(1, 0) = sin 1", "0.8415", Sinusoidal(dim=6), 1, 0),
    Erratum('the notes, "bank"', "0.04 for PE(1, 2)", "0.0464", Sinusoidal(dim=6), 1, 2),
    Erratum('the notes, "bank"', "0.99 for PE(1, 3)", "0.9989", Sinusoidal(dim=6), 1, 3),
    Erratum('the notes, "bank"', "0.99 for PE(1, 5)", "1.0000", Sinusoidal(dim=6), 1, 5),
    Erratum("the chapter", "0.41 for PE(2, 3)", "0.43", Sinusoidal(dim=16, base=100.0), 2, 3),
    Erratum(
        "the chapter",
        'a sum E + P of "book" (k = 2) that goes wrong from dimension 2 on',
        "[0.93, -0.27, 1.21, 0.51, 0.33, 1.02, -0.23, 2.06, -0.18, 0.07, 0.63, 1.86, -0.11, 1.73, -0.34, 1.18]",
        Sinusoidal(dim=16, base=100.0),
        2,
    ),
    Erratum("the chapter", "0 ≤ i ≤ d/2", "0 ≤ i < d/2"),
    Erratum(
        "the chapter",
        '0.85 as a value of "book"',
        '0.85 in the row of "the": it gives k = 0.987 ≈ 1',
        Sinusoidal(dim=16, base=100.0),
        1,
        3,
        (3, 0.85),
    ),
    Erratum(
        "the chapter",
        "k = 7 as the answer for 0.488814 at dimension 1088 of 5120",
        "that k = 7 gives 0.835354 with the stated formula; 0.48881494 is sin(7/10000^(544/5120)), exponent i/d in "
        "place of 2i/d, with its digits cut off and not rounded. Under the exponent i/d k = 7 (next 60,676); under the "
        "standard exponent the first fit is k = 929,505",
        Sinusoidal(dim=5120),
        7,
        1088,
        (1088, 0.488814),
    ),
    Erratum(
        "the chapter",
        "that Llama 4 comprehends only relative positions",
        "that its layers without rotation scale queries by absolute position",
    ),
)


def errata(encoding: Encoding, position: int | float, dimension: int | None = None) -> list[Erratum]:
    """Errata of the sources about an encoding at a position.

    Args:
        encoding: The encoding.
        position: The position.
        dimension: Only the errata of this dimension; of all if left out.

    Returns:
        The errata, in the order of `ERRATA`.

    Example:
        >>> [entry.printed for entry in errata(Sinusoidal(dim=16, base=100.0), 2, 3)]
        ['0.41 for PE(2, 3)']
    """
    validation.instance("encoding", encoding, Encoding, "an encoding")
    position = validation.real("position", position, -(2**53), 2**53)
    if dimension is not None:
        dimension = validation.integer("dimension", dimension, 0)
    return [
        entry
        for entry in ERRATA
        if entry.encoding == encoding
        and entry.position is not None
        and entry.position == position
        and (dimension is None or entry.dimension == dimension)
    ]
