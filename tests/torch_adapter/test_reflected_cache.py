"""A layer with PaTH whose cache holds keys as the last token sees them, against the whole sequence at once."""

from dataclasses import replace

import pytest
import torch

from posenc import ALiBi, PaTH
from posenc.torch import Attention
from torch_adapter.layer_steps import stepped

HEADS, WIDTH, MODEL, TOKENS = 4, 8, 24, 75


def layer_of(dtype=torch.float64, **more):
    """A layer with parameters so large that a reflection turns most of what it meets."""
    torch.manual_seed(3)
    encoding = PaTH(dim=WIDTH, heads=HEADS, model_dim=MODEL, rank=3)
    given = {"encodings": [encoding], "key_heads": 2, "head_dim": WIDTH, "causal": True}
    layer = Attention(MODEL, HEADS, **(given | more)).double()
    with torch.no_grad():
        for parameter in layer.encodings.parameters():
            parameter.mul_(2.0).add_(0.2)
    return layer.to(dtype)


def inputs(dtype=torch.float64):
    return torch.randn(2, TOKENS, MODEL, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("ends", [(TOKENS,), (0, 1, 2, 2, 3, TOKENS), (40, 41, 42, 74, TOKENS)], ids=str)
def test_steps_of_any_size_give_the_whole_sequence(ends):
    layer, x = layer_of(), inputs()
    assert layer.caches_reflected
    with torch.no_grad():
        got, cache = stepped(layer, x, ends)
        assert (got - layer(x)).abs().max() < 1e-12
    assert cache.k.shape == (2, TOKENS, HEADS, WIDTH)
    assert cache.hidden.shape == (2, layer.encodings[0].encoding.taps - 1, MODEL)


def test_gradients_of_steps_are_those_of_the_whole_sequence():
    layer, x = layer_of(), inputs()
    (want,) = torch.autograd.grad(layer(x).square().sum(), layer.encodings[0].w_out)
    (got,) = torch.autograd.grad(stepped(layer, x, (5, 6, TOKENS))[0].square().sum(), layer.encodings[0].w_out)
    assert (got - want).abs().max() < 1e-11 * want.abs().max()


def test_a_mask_hides_padding_in_every_step():
    layer, x = layer_of(), inputs()
    mask = torch.ones(2, 1, 1, TOKENS, dtype=torch.bool)
    mask[1, ..., :9] = False
    with torch.no_grad():
        got, _ = stepped(layer, x, (40, 41, TOKENS), mask=mask)
        want = layer(x, mask=mask)
    assert (got - want).abs().max() < 1e-12


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_rounding_does_not_grow_from_step_to_step(dtype):
    layer, x = layer_of(dtype), inputs(dtype)
    with torch.no_grad():
        got, cache = stepped(layer, x, range(1, TOKENS + 1))
        want = layer.double()(x.double())
    assert (got.dtype, cache.k.dtype, cache.v.dtype) == (dtype, torch.float32, dtype)
    # Projections, the output and its product are rounded once each; keys in float32 once a step.
    bound = 8 * torch.finfo(dtype).eps + TOKENS * torch.finfo(torch.float32).eps
    assert (got.double() - want).abs().max() <= bound * want.abs().max()


def test_a_cache_that_lost_tokens_and_positions_that_do_not_rise_are_refused():
    layer, x = layer_of(), inputs()
    with torch.no_grad():
        _, cache = layer.step(x[:, :8])
        shorter = replace(cache, k=cache.k[:, :5], v=cache.v[:, :5], key_positions=cache.key_positions[:5])
        for wrong in (shorter, replace(cache, seen_from=None)):
            with pytest.raises(ValueError, match=r"^cache must be one that a step of this layer returned"):
                layer.step(x[:, 8:9], wrong)
        for wrong in ([7], [3]):
            with pytest.raises(ValueError, match=r"^positions must rise from token to token for PaTH"):
                layer.step(x[:, 8:9], cache, torch.tensor(wrong))


@pytest.mark.parametrize(
    "more",
    [
        {"causal": False},
        {"window": (9, None)},
        {"scale": 0.5},
        {"impl": "tiles"},
        {"encodings": [PaTH(dim=WIDTH, heads=HEADS, model_dim=MODEL, rank=3), ALiBi(heads=HEADS)]},
    ],
    ids=lambda more: next(iter(more)),
)
def test_where_something_else_acts_keys_are_kept_as_they_are(more):
    layer, x = layer_of(**more), inputs()[:, :6]
    assert not layer.caches_reflected
    with torch.no_grad():
        got, cache = stepped(layer, x, (4, 5, 6))
        if layer.causal:
            assert (got - layer(x)).abs().max() < 1e-12
    assert cache.seen_from is None
    assert cache.hidden.shape == x.shape
