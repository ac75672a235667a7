"""A layer with the forgetting gate whose cache holds gates, against the whole sequence at once."""

import pytest
import torch

from posenc import ForgettingGate, PaTH, RoPE
from posenc.torch import Attention
from torch_adapter.layer_steps import stepped

HEADS, WIDTH, MODEL, TOKENS = 4, 6, 24, 19


def layer_of(dtype=torch.float64, **more):
    """A layer whose gates close by much, and by another amount for each token."""
    torch.manual_seed(2)
    gate = ForgettingGate(heads=HEADS, model_dim=MODEL)
    given = {"encodings": [RoPE(dim=WIDTH), gate], "key_heads": 2, "head_dim": WIDTH, "causal": True}
    layer = Attention(MODEL, HEADS, **(given | more)).double()
    with torch.no_grad():
        for parameter in layer.encodings.parameters():
            parameter.mul_(20.0).add_(0.1)
    return layer.to(dtype)


def inputs(dtype=torch.float64):
    return torch.randn(2, TOKENS, MODEL, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("more", [{}, {"window": (4, None)}], ids=str)
def test_steps_of_any_size_give_the_whole_sequence_and_its_gradient(more):
    layer, x = layer_of(**more), inputs()
    assert layer.caches_gates
    whole = layer(x)
    got, cache = stepped(layer, x, (3, 4, 5, 11, TOKENS))
    assert (got - whole).abs().max() < 1e-12
    assert cache.hidden.shape == (2, TOKENS, HEADS)
    gate = layer.encodings[-1].W
    (got,), (want,) = (torch.autograd.grad(each.square().sum(), gate) for each in (got, whole))
    assert (got - want).abs().max() < 1e-11 * want.abs().max()


def test_positions_of_any_order_and_padding_count_as_in_the_whole_sequence():
    layer, x = layer_of(causal=False), inputs()
    positions = torch.stack([torch.randperm(TOKENS, generator=torch.Generator().manual_seed(row)) for row in (0, 1)])
    mask = torch.ones(2, 1, 1, TOKENS, dtype=torch.bool)
    mask[1, ..., :3] = False
    with torch.no_grad():
        got, _ = stepped(layer, x, (TOKENS - 1, TOKENS), positions, mask)
        want = layer(x, positions, mask=mask)
    assert (got[:, -1] - want[:, -1]).abs().max() < 1e-12


def test_gates_of_bfloat16_are_kept_in_float32():
    layer, x = layer_of(torch.bfloat16), inputs(torch.bfloat16)
    with torch.no_grad():
        got, cache = stepped(layer, x, range(1, TOKENS + 1))
        want = layer.double()(x.double())
    assert (got.dtype, cache.hidden.dtype) == (torch.bfloat16, torch.float32)
    # Projections, rotations, the output and its product are rounded once each.
    assert (got.double() - want).abs().max() <= 8 * torch.finfo(torch.bfloat16).eps * want.abs().max()


def test_where_another_encoding_reads_inputs_too_these_are_kept():
    both = [ForgettingGate(heads=HEADS, model_dim=MODEL), PaTH(dim=WIDTH, heads=HEADS, model_dim=MODEL, rank=3)]
    layer = layer_of(encodings=both)
    assert not layer.caches_gates
    with torch.no_grad():
        _, cache = stepped(layer, inputs(), (4, 5))
    assert cache.hidden.shape == (2, 5, MODEL)
