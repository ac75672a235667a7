"""The formulas of the pages: their MathML says what the docstring says, fractions and exponents in place."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import posenc
from generator.docstring import docstring
from generator.mathematics import mathematics

_WRITTEN = str.maketrans(
    {"⁻": "-", "¹": "1", "²": "2", "ᵀ": "T", "₂": "2", "∑": "Σ", "−": "-", "′": "'", "\u00a0": " "}
)


def letters(text: str) -> str:
    """A text without spaces and without what a fraction bar, a root or a raised line says."""
    return re.sub(r"[\s(){}_^/√`]", "", text.translate(_WRITTEN))


@pytest.mark.parametrize("row", posenc.CATALOG)
def test_the_mathematics_of_a_page_says_what_the_docstring_says(row: posenc.Row) -> None:
    formula = docstring(row.about).formula
    paragraph = ElementTree.fromstring(mathematics(formula))
    assert letters("".join(paragraph.itertext())) == letters(formula)
    assert not paragraph.findall(".//merror")


def test_the_exponent_of_the_sinusoid_is_raised_and_its_pair_has_no_index_lost() -> None:
    assert "<msup><mi>base</mi><mrow><mo>−</mo><mn>2</mn><mi>i</mi><mo>/</mo><mi>dim</mi></mrow></msup>" in mathematics(
        "p·base^(-2i/dim)"
    )


def test_a_fraction_takes_the_product_above_it_and_one_factor_below() -> None:
    half = mathematics("x = a + b·(c - d) / √dim · e")
    above = "<mrow><mi>b</mi><mo>·</mo><mrow><mo>(</mo><mi>c</mi><mo>−</mo><mi>d</mi><mo>)</mo></mrow></mrow>"
    assert f"<mo>+</mo><mfrac>{above}<msqrt><mi>dim</mi></msqrt></mfrac><mo>·</mo><mi>e</mi>" in half


def test_names_are_mathematics_beside_an_operator_and_words_elsewhere() -> None:
    assert mathematics("the factor, if ω / factor") == (
        '<p class="formula">the factor, if <math><mfrac><mi>ω</mi><mi>factor</mi></mfrac></math></p>'
    )


def test_a_bracket_left_open_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"formula must close every bracket; '\)' is missing"):
        mathematics("sin(p")
