"""Images of a stated width: exact in every format, nothing cut, the figure left as it was."""

from __future__ import annotations

import io
import warnings

import matplotlib as mpl
import numpy as np
import pytest

from plot.test_manners import PICTURES, panels
from posenc import RoPE, plot
from posenc.plot.column_width import drawn_box, inches, smaller_text, smallest_text


@pytest.mark.nightly
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_fits_a_column_with_nothing_cut(name):
    draw, arguments, _, _, _ = PICTURES[name]
    usual = drawn_box(panels(draw(*arguments))[0].figure).width
    with smaller_text(3.25 / usual), warnings.catch_warnings():
        warnings.simplefilter("error")  # a layout that has no room for its panels
        figure = panels(draw(*arguments))[0].figure
        before = figure.get_size_inches().tolist()
        drawn = plot.image(figure, "png", dpi=100, width=3.25)
        assert figure.get_size_inches().tolist() == before
    width = int.from_bytes(drawn.data[16:20], "big")
    assert width == 325
    pixels = mpl.image.imread(io.BytesIO(drawn.data))[..., :3]
    edges = (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1])
    assert all(np.array_equal(edge, np.ones_like(edge)) for edge in edges)  # white: nothing is drawn at an edge


@pytest.mark.parametrize("kind", ["svg", "pdf"])
def test_vectors_have_the_width_too(kind):
    assert plot.image(plot.wavelengths(RoPE(dim=8)), kind, width=3.5).width == 3.5 * 96


@pytest.mark.parametrize(
    ("text", "width"),
    [("3.25in", 3.25), ("89mm", 89 / 25.4), ("8.9 cm", 8.9 / 2.54), ("242.67pt", 242.67 / 72.27), ("4", 4)],
)
def test_units(text, width):
    assert inches(text) == pytest.approx(width, rel=1e-15)


@pytest.mark.parametrize("text", ["", "wide", "-3in", "0in", "3 parsec", "1e9", "nan", "41in", "3,5in"])
def test_what_is_no_width(text):
    with pytest.raises(ValueError, match=r"^width must be 1 to 40 inches, as 3.25in, 89mm"):
        inches(text)


def test_text_shrinks_with_the_picture_unless_its_size_is_stated():
    with smaller_text(0.5):
        assert mpl.rcParams["font.size"] == 5.0
    with smaller_text(2.0):
        assert mpl.rcParams["font.size"] == 10.0
    with mpl.rc_context({"font.size": 8.0}), smaller_text(0.5):
        axes = plot.waves(RoPE(dim=8))
        axes.figure.draw_without_rendering()
        assert smallest_text(axes.figure) == pytest.approx(8 * 0.833)
