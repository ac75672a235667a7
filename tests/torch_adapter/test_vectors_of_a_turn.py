"""Queries and keys that do not belong to a rotation are refused before any kernel."""

import pytest
import torch

from posenc import HeadwiseRoPE, RoPE
from posenc.torch import rotate

Q, K = torch.zeros(2, 4, 5, 8), torch.zeros(2, 2, 5, 8)
TURN = RoPE(dim=8).rotation(torch.arange(5))


@pytest.mark.parametrize(
    ("q", "k", "says"),
    [
        (Q[0], K, r"^q must have shape 'bhtd' with d = 8; got \(4, 5, 8\)"),
        (Q[..., :6], K, r"^q must have shape 'bhtd' with d = 8; got \(2, 4, 5, 6\)"),
        (Q, K[:, :, :4], r"^k must have the positions of the rotation, 1 × 5; got \(2, 2, 4, 8\)"),
        (
            Q,
            K.bfloat16(),
            r"^k must have the dtype, device and batch of q; got torch.bfloat16, cpu, 2 for",
        ),
        (
            Q,
            K[:1],
            r"^k must have the dtype, device and batch of q; got torch.float32, cpu, 1 for",
        ),
        (Q.to("meta"), K.to("meta"), r"^rotation must be on the device of q, meta; got cpu"),
    ],
)
def test_vectors_of_another_shape_type_or_place(q, k, says):
    with pytest.raises(ValueError, match=says):
        rotate(q, k, TURN, layout="bhtd")


def test_a_rotation_for_each_head_needs_as_many_heads():
    rotation = HeadwiseRoPE(dim=8, heads=4, shares=(2, 1)).rotation(torch.zeros(5, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"^k must have 4 heads, one for each rotation of the rotation; got \(2, 2,"):
        rotate(Q, K, rotation, layout="bhtd")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (RoPE(dim=8), r"Call its rotation\(positions\)"),
        (torch.arange(5), r"got positions, it seems \(Tensor\). Give encoding.rotation\(positions\)"),
        (3, r"got 3 \(int\). Give encoding.rotation\(positions\)"),
    ],
)
def test_what_is_no_turn(given, says):
    with pytest.raises(TypeError, match=says):
        rotate(Q, K, given, layout="bhtd")
