"""XD-RoPE as transformers has it: refused fields, and that text is rotated as RoPE turns it."""

import numpy as np
import pytest

from posenc import RoPE, XDRoPE, axial


@pytest.mark.parametrize(
    ("fields", "error", "begins"),
    [
        ({"sections": 4}, TypeError, "sections must be a tuple of 2 to 16"),
        ({"sections": (4,)}, TypeError, "sections must be a tuple of 2 to 16"),
        ({"sections": (1,) * 17}, TypeError, "sections must be a tuple of 2 to 16"),
        ({"sections": (2, 0)}, ValueError, "sections must be"),
        ({"sections": (2, 1.5)}, TypeError, "sections must be"),
        ({"sections": (1 << 16,) * 16}, ValueError, "sections must be"),
        ({"base": 0.0}, ValueError, "base must be"),
        ({"numerics": "half"}, ValueError, "numerics must be"),
        ({"scaling": 4.0}, TypeError, "scaling must be"),
    ],
)
def test_refused_fields(fields: dict, error: type, begins: str) -> None:
    with pytest.raises(error, match=f"^{begins}"):
        XDRoPE(**({"sections": (2, 2)} | fields))


def test_text_is_rotated_as_rope_turns_it() -> None:
    places, x = np.arange(9), np.random.default_rng(0).standard_normal((9, 8))
    rotated = XDRoPE(sections=(1, 1, 2)).rotation(np.stack([places] * 3, -1))(x)
    assert np.array_equal(rotated, RoPE(dim=8, pairing="halves").rotation(places)(x))


def test_an_image_is_not_rotated() -> None:
    """Channel 0 reads coordinate 0, its partner 2 coordinate 1: at (0, 1) the second of them alone turns."""
    x = np.array([[3.0, 0.0, 4.0, 0.0]])
    rotated = XDRoPE(sections=(1, 1)).rotation([[0, 1]])(x)
    assert np.allclose(rotated, [[3.0, 0.0, 4 * np.cos(1) + 3 * np.sin(1), 0.0]])
    assert np.linalg.norm(axial("qwen2-vl", (1, 1)).rotation([[0, 1]])(x)) == pytest.approx(5.0)
