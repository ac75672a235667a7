"""HARoPE: with matrices that are no identity, against the oracle and against the formula of the authors' code."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from oracles import harope as oracle
from posenc import HARoPE, RoPE, XPos, axial
from posenc.catalog import row
from posenc.encodings.rotates.headwise_rope import HeadwiseRoPE
from posenc.encodings.rotates.value_rotation import ValueRotation
from posenc.testing.door_probe import moved_parameters

SMALL, OF_MATRICES = HARoPE(RoPE(dim=2), heads=1), HARoPE(row("LieRE").samples[0], heads=2)
PLACES = {1: [0, 5, 131_071], 2: [(0, 0), (5, -3), (131_071, 7)]}


@pytest.mark.parametrize("encoding", row("HARoPE").samples, ids=str)
def test_matrices_that_training_has_moved(encoding: HARoPE) -> None:
    params, places = moved_parameters(encoding), PLACES[encoding.axes]
    lists = {name: value.tolist() for name, value in params.items()}
    x = np.random.default_rng(1).standard_normal((encoding.heads, len(places), encoding.head_dim))
    for role in ("query", "key"):
        made = encoding.rotation(places, params, role=role)(x[None], layout="bhtd")[0]
        for head, (number, place) in product(range(encoding.heads), enumerate(places)):
            expected = oracle.rotated(encoding, x[head, number].tolist(), place, role, lists, head)
            # The singular values lie within 1/4 and 4, so no entry of M or of its inverse is above 4.
            off = 4 * (oracle.units(encoding, lists) * 2.0**-52 + oracle.lost(encoding, place, lists) * 2.0**-52)
            assert np.abs(made[head, number] - np.array(expected, float)).max() <= off * np.abs(x[head, number]).sum()


def test_the_formula_of_the_authors() -> None:
    """Queries times Mᵀ and keys times M⁻¹ from the right, then the axial rotation of adjacent pairs."""
    encoding, rng = HARoPE(axial(dim=8), heads=3), np.random.default_rng(2)
    params, q, k = moved_parameters(encoding), *rng.standard_normal((2, 2, 3, 4, 8))
    u, v = (torch.matrix_exp(torch.tensor((a - a.swapaxes(-1, -2)) / 2)) for a in (params["A_u"], params["A_v"]))
    s = torch.nn.functional.softplus(torch.tensor(params["sigma"])) + 1e-6
    m, inverse = u @ (s[..., None] * v.mT), v @ ((1 / s)[..., None] * u.mT)
    places = [(0, 0), (0, 1), (1, 0), (1, 1)]
    rotation = encoding.encoding.rotation(places)
    for role, x, matrix in (("query", q, m.mT), ("key", k, inverse)):
        expected = rotation(x @ matrix.numpy(), layout="bhtd")
        result = encoding.rotation(places, params, role=role)(x, layout="bhtd")
        np.testing.assert_allclose(result, expected, rtol=0, atol=64 * 8 * 2.0**-52 * np.abs(expected).max())


def test_grouped_queries_and_rows_of_tokens() -> None:
    encoding = HARoPE(RoPE(dim=4), heads=4)
    rotation = encoding.rotation([3, 4], moved_parameters(encoding), role="query")
    x = np.random.default_rng(3).standard_normal((2, 2, 4, 4))  # batch, tokens, heads, channels
    expected = rotation(x, layout="bthd")
    assert np.array_equal(rotation(x[0], layout="thd"), expected[0])
    assert np.array_equal(rotation(x.reshape(2, 2, 2, 2, 4), layout="btkgd").reshape(x.shape), expected)


def test_a_rotation_that_stretches_keeps_its_roles() -> None:
    encoding, places = HARoPE(XPos(dim=4), heads=1), [7]
    params = encoding.init(np.random.default_rng(0))
    x = np.ones((1, 1, 1, 4))
    for role in ("query", "key"):
        plain = encoding.encoding.rotation(places, role=role)(x, layout="bhtd")
        np.testing.assert_allclose(encoding.rotation(places, params, role=role)(x, layout="bhtd"), plain, rtol=2e-6)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: HARoPE(encoding=8, heads=1), TypeError, "encoding must be an encoding that rotates queries and keys"),
        (lambda: HARoPE(ValueRotation(RoPE(dim=4)), heads=1), ValueError, "encoding must rotate queries and keys; got"),
        (
            lambda: HARoPE(HeadwiseRoPE(dim=4, heads=4, shares=(1, 2)), heads=2),
            ValueError,
            "heads must be those of the encoding, 4; got 2. Give heads=4.",
        ),
        (
            lambda: OF_MATRICES.rotation([0], moved_parameters(OF_MATRICES), role="query"),
            TypeError,
            "encoding must rotate pairs of channels; got one that returns Matrices",
        ),
        (
            lambda: HARoPE(RoPE(dim=2), heads=1).rotation(
                [0],
                moved_parameters(HARoPE(RoPE(dim=2), heads=1)) | {"A_v": np.array([[[0.0, 1e6], [0.0, 0.0]]])},
                role="key",
            ),
            ValueError,
            r"params\['A_u'\] and params\['A_v'\] must rotate by at most 65536 radians; got about 500000 .*smaller",
        ),
        (
            lambda: SMALL.rotation([0], moved_parameters(SMALL)),
            ValueError,
            "role must be 'query' or 'key' for HARoPE, which multiplies keys by the inverse of the transposed matrix",
        ),
    ],
)
def test_what_is_refused(wrong, error, message) -> None:
    with pytest.raises(error, match=f"^{message}"):
        wrong()
