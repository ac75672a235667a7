"""Every picture in other fonts than matplotlib's own: Computer Modern, which lacks most symbols, and LaTeX."""

from __future__ import annotations

import re
import warnings

import matplotlib as mpl
import pytest
from matplotlib.text import Text

from plot.test_manners import PICTURES, panels
from posenc import RoPE, plot
from posenc.plot.fonts import literal

COMPUTER_MODERN = {"font.family": "cmr10", "axes.formatter.use_mathtext": True, "mathtext.fontset": "cm"}


@pytest.mark.nightly
@pytest.mark.parametrize("name", PICTURES)
def test_no_character_is_missing_in_computer_modern(name):
    draw, arguments, _, _, _ = PICTURES[name]
    with mpl.rc_context(COMPUTER_MODERN), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plot.image(draw(*arguments), "png", dpi=40).data


def test_a_missing_character_would_be_noticed():
    with mpl.rc_context(COMPUTER_MODERN), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        plot.image(plot.curves({"a": ([0, 1], [2.0, 1.0])}, x="x", y="y").set_title("ω").figure, "png", dpi=40)
    assert any("Glyph 969" in str(warning.message) for warning in told)


def unsafe_in_latex(text: str) -> str:
    """Return what LaTeX would not set as it stands: characters that it lacks in text, and those that are commands."""
    outside = re.sub(r"(?<!\\)\$[^$]*(?<!\\)\$", "", text)  # formulas
    outside = re.sub(r"\\(?:[$&%#_{}]|text(?:backslash|asciicircum|asciitilde)\{\})", "", outside)
    return re.sub(r"[^$&%#_{}\\^~<>|\u0080-\U0010ffff]|\u2212", "", outside)


@pytest.mark.parametrize("name", PICTURES)
def test_latex_can_set_every_text(name):
    draw, arguments, _, _, _ = PICTURES[name]
    with mpl.rc_context({"text.usetex": True}):
        figure = panels(draw(*arguments))[0].figure
        texts = {text.get_text() for text in figure.findobj(Text)}
    assert {text: unsafe for text in texts if (unsafe := unsafe_in_latex(text))} == {}


def test_text_is_escaped_for_latex_alone():
    text = "50% of dim_2 → ω, #1 & {x} <y> ~ ^ \\ $"
    assert unsafe_in_latex(text) == "%_→ω#&{}<>~^\\$"
    with mpl.rc_context({"text.usetex": True}):
        assert unsafe_in_latex(literal(text)) == ""
    assert literal(text) == text.replace("$", r"\$")


def test_a_figsize_of_the_readers_own_is_honoured():
    with mpl.rc_context({"figure.figsize": (3.5, 2.0)}):
        assert plot.wavelengths(RoPE(dim=8)).figure.get_size_inches().tolist() == [3.5, 2.0]
        assert plot.heads(PICTURES["heads"][1][0])[0].figure.get_size_inches()[0] == 3.5
    assert plot.wavelengths(RoPE(dim=8)).figure.get_size_inches().tolist() == [5.2, 3.4]


def test_a_pdf_embeds_truetype_fonts():
    data = plot.image(plot.waves(RoPE(dim=8)), "pdf").data
    assert set(re.findall(rb"/Subtype /(Type3|Type0|CIDFontType\d|TrueType)", data)) == {b"Type0", b"CIDFontType2"}
    assert b"/FontFile2" in data
