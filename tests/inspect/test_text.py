"""One way to write numbers, tables and encodings."""

import pytest

import posenc
from posenc import CATALOG, frequencies
from posenc.compose import Partial, Sum
from posenc.core import text_lines
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1e-7, "1e-07"),
        (-1e-3, "-0.001"),
        (1234567.0, "1234567"),
        (1e12, "1e+12"),
        (-2.50, "-2.5"),
        (100.0, "100"),
    ],
)
def test_a_number(value, text):
    assert text_lines.number(value) == text


def test_a_rounded_zero_has_no_sign():
    assert text_lines.number(-0.004, 2) == "0"
    assert text_lines.vector([-1e-9, -0.5]) == "[0.0000, -0.5000]"


def test_a_long_row_leaves_out_its_middle():
    assert text_lines.vector(range(20), 0, most=4) == "[0, 1, …, 18, 19]"


def test_an_encoding_says_what_is_not_its_default_and_inside_too():
    assert (
        text_lines.short(Sum((Sinusoidal(dim=4), Sinusoidal(dim=4, base=7.0))))
        == "Sum(parts=(Sinusoidal(dim=4), Sinusoidal(dim=4, base=7.0),))"
    )
    assert text_lines.short(Partial(RoPE(dim=4), dim=8)) == "Partial(encoding=RoPE(dim=4), dim=8)"


@pytest.mark.parametrize("row", CATALOG)
def test_a_short_encoding_rebuilds_the_encoding(row):
    names = {name: getattr(home, name) for home in (frequencies, posenc) for name in home.__all__}
    for sample in row.samples:
        assert eval(text_lines.short(sample), names) == sample


def test_one_and_many():
    assert (text_lines.count(1, "fit"), text_lines.count(2000, "fit")) == ("1 fit", "2,000 fits")


def test_terms_carry_their_signs():
    assert text_lines.signed_sum([-1.0, 2.0, -0.5]) == "-1 + 2 - 0.5"
