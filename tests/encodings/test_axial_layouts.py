"""Named layouts of several axes: what each deals out, by hand, and refused arguments."""

import re

import numpy as np
import pytest

from posenc import AxialRoPE, Linear, RoPE, axial
from posenc.encodings.rotates.axial_layouts import LAYOUTS
from posenc.frequencies import Bands, Geometric, InRevolutions, Joined
from posenc.positions import grid

#: Axis and frequency index of each pair, for four pairs of two axes or eight of three, sixteen where those repeat.
DEALT = {
    "qwen2-vl-vision": ((2, 2), (0, 0, 1, 1), (0, 1, 0, 1)),
    "eva02": ((2, 2), (0, 0, 1, 1), (0, 1, 0, 1)),
    "sam2": ((2, 2), (0, 0, 1, 1), (0, 1, 0, 1)),
    "gemma4-vision": ((2, 2), (0, 0, 1, 1), (0, 1, 0, 1)),
    "step3-vision": ((2, 2), (1, 1, 0, 0), (0, 1, 0, 1)),
    "inkling2-vision": ((2, 2), (1, 1, 0, 0), (0, 1, 0, 1)),
    "kimi-vision": ((2, 2), (1, 0, 1, 0), (0, 0, 1, 1)),
    "dinov3": ((2, 2), (0, 0, 1, 1), (0, 1, 0, 1)),
    "pixtral": ((2, 2), (0, 0, 1, 1), (0, 2, 1, 3)),
    "neomme": ((2, 2), (0, 1, 0, 1), (0, 1, 2, 3)),
    "vrope": ((2, 2, 2, 2), (0, 1, 2, 3, 0, 1, 2, 3), tuple(range(8))),
    "qwen2-vl": ((2, 3, 3), (0, 0, 1, 1, 1, 2, 2, 2), tuple(range(8))),
    "glm4v": ((2, 3, 3), (0, 0, 1, 1, 1, 2, 2, 2), tuple(range(8))),
    "qwen3-vl": ((4, 2, 2), (0, 1, 2, 0, 1, 2, 0, 0), tuple(range(8))),
    "ernie4.5-vl": ((2, 3, 3), (1, 2, 1, 2, 1, 2, 0, 0), tuple(range(8))),
    "videorope": ((2, 3, 3), (1, 2, 1, 2, 1, 2, 0, 0), tuple(range(8))),
    "hope": ((2, 3, 3), (1, 2, 1, 2, 1, 2, 0, 0), tuple(range(8))),
    "lumos": ((4, 6, 6), (0, 0, 0, 0, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2), tuple(range(16))),
}


def test_every_layout_is_written_out_here() -> None:
    assert set(DEALT) == set(LAYOUTS)


def test_the_docstring_lists_each_layout_under_its_order() -> None:
    """The one place that a user reads says for each name which coordinate comes first."""
    names = axial.__doc__.split("name stands for:")[1].split("Args:")[0].split("    - ")[1:]
    assert [re.findall(r'"([^"]+)"', " ".join(line.replace('order="wh"', "").split())) for line in names] == [
        [name for name, kind in LAYOUTS.items() if kind.order == order] for order in ("hw", "wh", "thw", None)
    ]


@pytest.mark.parametrize("layout", DEALT)
def test_what_is_dealt_out(layout: str) -> None:
    sections, axis, index = DEALT[layout]
    encoding = axial(layout, sections, base=100.0)
    assert (encoding.axis, encoding.frequency_index, encoding.pairing) == (axis, index, LAYOUTS[layout].pairing)
    assert encoding.blocks == (2 if layout == "gemma4-vision" else 1)


def test_a_layout_is_a_plain_encoding() -> None:
    assert axial("sam2", (1, 1), base=100.0) == AxialRoPE(
        axis=(0, 1), frequency_index=(0, 0), frequency_dim=2, base=100.0
    )
    assert (
        axial("qwen2-vl", (1, 1, 2), scaling=Linear(4.0)).all_frequencies
        == RoPE(dim=8, scaling=Linear(4.0)).frequencies
    )


def test_frequencies_of_axes() -> None:
    assert axial("dinov3", (2, 2), base=100.0).frequency_dim == InRevolutions(Geometric(4, 100.0))
    assert axial("sam2", (1, 2)).frequency_dim == Joined((Geometric(2), Geometric(4)))
    assert axial("sam2", (1, 2)).frequency_index == (0, 1, 2)
    assert axial("sam2", (2, 2), base=(10.0, 20.0)).frequency_dim == Joined((Geometric(4, 10.0), Geometric(4, 20.0)))
    parts, like = (Geometric(2), Geometric(4, 10.0), Bands(3)), np.zeros(())
    assert Joined(parts).float32(like).tolist() == [one for part in parts for one in part.float32(like).tolist()]
    assert Bands(3).float32(like).tolist() == [np.float32(np.pi), np.float32(2 * np.pi), np.float32(4 * np.pi)]
    assert axial("sam2", (2, 2), frequencies=Bands(2)).frequencies.radians().round(4).tolist() == [3.1416, 6.2832] * 2
    assert axial("hope", (3, 3, 3)).frequencies.radians()[5:].round(4).tolist() == [0.0060, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "begins"),
    [
        (lambda: axial("qwen", (1, 1)), "layout must be one of"),
        (lambda: axial("pixtral", (1, 1, 1)), "sections must be 2 numbers of pairs"),
        (lambda: axial("sam2", (1,)), "sections must be two or more numbers"),
        (lambda: axial("sam2", 4), "sections must be two or more numbers"),
        (lambda: axial("sam2", (1, 0)), "sections must be an integer from 1"),
        (lambda: axial("pixtral", (1, 2)), "sections must be those of 'pixtral'"),
        (
            lambda: axial("videorope", (1, 2, 4)),
            r"sections must be those of 'videorope' for as many pairs, \(1, 3, 3\)",
        ),
        (lambda: axial("lumos", (4, 5, 7)), "sections must be those of"),
        (lambda: axial("lumos", (4, 2, 2)), "sections must have a multiple of 16 pairs in all for 'lumos'"),
        (lambda: axial("gemma4-vision", (1, 2)), "sections must be those of"),
        (lambda: axial("sam2", (1, 1), base=(1.0, 2.0, 3.0)), "base must be one number, or 2 for 'sam2'"),
        (lambda: axial("qwen2-vl", (1, 1), base=(1.0, 2.0)), "base must be one number, or 1 for 'qwen2-vl'"),
        (lambda: axial("hope", (1, 1, 1), scaling=Linear(2.0)), "scaling must be left out for 'hope'"),
        (lambda: axial("dinov3", (1, 1), scaling=Linear(2.0)), "scaling must be left out for 'dinov3'"),
        (
            lambda: AxialRoPE((0, 1), (0, 0), Geometric(2), base=5.0),
            "frequency_dim must be a width where base or scaling is given",
        ),
    ],
)
def test_refused(call, begins: str) -> None:
    with pytest.raises(ValueError, match=f"^{begins}"):
        call()


@pytest.mark.parametrize(
    "call", [lambda: Joined(()), lambda: Joined(3), lambda: Joined((3,)), lambda: InRevolutions(3)]
)
def test_frequencies_of_axes_refuse(call) -> None:
    with pytest.raises(TypeError, match=r"^(parts|frequencies) must be"):
        call()


EVEN = [layout for layout, (sections, _, _) in DEALT.items() if len(sections) == 2]


@pytest.mark.parametrize("layout", EVEN)
def test_dim_alone_is_enough_for_an_image(layout: str) -> None:
    encoding, patches = axial(layout, dim=64), grid(14, 14)
    assert encoding == axial(layout, (16, 16))
    assert encoding.head_dim == 64
    assert encoding.rotation(patches).cos.shape == (196, 32)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layout": "sam2"}, "^dim must be given, or sections, and not both; got neither"),
        (
            {"layout": "sam2", "sections": (2, 2), "dim": 8},
            "^dim must be given, or sections, and not both; got sections=",
        ),
        ({"layout": "sam2", "dim": 6}, "^dim must be a multiple of 4, .*; got 6"),
        ({"layout": "sam2", "dim": 2}, "^dim must be an integer from 4"),
        ({"layout": "qwen2-vl", "dim": 64}, "^dim must be left out for 'qwen2-vl', .* Give sections"),
    ],
)
def test_a_dim_that_does_not_say_enough(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        axial(**arguments)
