"""RoPE over several axes: refused fields, and that it is RoPE where frequencies are shared and one coordinate moves."""

import numpy as np
import pytest

from posenc import AxialRoPE, RoPE
from posenc.frequencies import Chosen, Geometric


@pytest.mark.parametrize(
    ("fields", "error", "begins"),
    [
        ({"axis": ()}, TypeError, "axis must be a tuple"),
        ({"axis": 3}, TypeError, "axis must be a tuple"),
        ({"axis": (0, 16)}, ValueError, "axis must be"),
        ({"axis": (0, 2)}, ValueError, "axis must use every coordinate"),
        ({"axis": (0, 0.5)}, TypeError, "axis must be"),
        ({"frequency_index": (0,)}, ValueError, "frequency_index must have one number a pair, 2; got 1"),
        ({"frequency_index": (0, 2)}, ValueError, "frequency_index must be"),
        ({"frequency_dim": 3}, ValueError, "frequency_dim must be"),
        ({"base": 0.0}, ValueError, "base must be"),
        ({"pairing": "both"}, ValueError, "pairing must be"),
        ({"blocks": 3}, ValueError, "blocks must"),
        ({"numerics": "float16"}, ValueError, "numerics must be"),
        ({"scaling": 4.0}, TypeError, "scaling must be"),
    ],
)
def test_refused_fields(fields: dict, error: type, begins: str) -> None:
    with pytest.raises(error, match=f"^{begins}"):
        AxialRoPE(**({"axis": (0, 1), "frequency_index": (0, 1), "frequency_dim": 4} | fields))


@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_text_is_rope(pairing: str) -> None:
    """Where all coordinates are the same number, as in text of a multimodal model, the rotation is RoPE's."""
    places = np.arange(7)
    several = AxialRoPE(axis=(0, 1, 2, 1, 0, 2), frequency_index=(0, 1, 2, 3, 4, 5), frequency_dim=12, pairing=pairing)
    rotation, own = several.rotation(np.stack([places] * 3, -1)), RoPE(dim=12, pairing=pairing).rotation(places)
    x = np.random.default_rng(0).standard_normal((7, 12))
    assert np.array_equal(rotation(x), own(x))


@pytest.mark.parametrize(
    ("indices", "error"),
    [((), TypeError), (None, TypeError), ((2,), ValueError), ((-1,), ValueError), ((0.0,), TypeError)],
)
def test_chosen_refuses(indices: object, error: type) -> None:
    with pytest.raises(error, match=r"^indices must"):
        Chosen(Geometric(dim=4), indices)
