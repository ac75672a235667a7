"""Against x-transformers 2.31.10, live: rotary, ALiBi, T5's bias and the scaled sinusoid."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
import torch

from posenc import ALiBi, DynamicPositionBias, LearnedScale, Partial, PoPE, RoPE, Sinusoidal, T5Bias


@pytest.fixture(scope="module")
def xt() -> Any:
    pytest.importorskip("x_transformers")
    assert version("x-transformers") == "2.31.10"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("x_transformers.x_transformers")


@pytest.mark.parametrize(("dim", "base"), [(64, 10_000.0), (128, 500_000.0), (10, 100.0)])
def test_rotary_frequencies_and_tables_are_bit_equal(xt: Any, dim: int, base: float) -> None:
    peer, encoding = xt.RotaryEmbedding(dim, base=base), RoPE(dim=dim, base=base, numerics="float32")
    assert torch.equal(encoding.frequencies.float32(torch.zeros(())), peer.inv_freq)
    angles, scale = peer(torch.arange(4000, 4050))
    rotation = encoding.rotation(torch.arange(4000, 4050))
    assert scale == 1
    assert torch.equal(rotation.cos, angles[0, :, ::2].cos())
    assert torch.equal(rotation.sin, angles[0, :, 1::2].sin())


def test_rotated_tensors_are_bit_equal(xt: Any) -> None:
    """Neighbours in pairs; by default the peer rotates half of a head of 64."""
    x = torch.randn(2, 3, 50, 64, generator=torch.Generator().manual_seed(0))
    theirs = xt.apply_rotary_pos_emb(x, xt.RotaryEmbedding(32)(torch.arange(50))[0])
    rotation = Partial(RoPE(dim=32, numerics="float32"), dim=64).rotation(torch.arange(50))
    assert torch.equal(rotation(x, layout="bhtd"), theirs)


@pytest.mark.parametrize("heads", [1, 8, 12, 20])
def test_alibi_slopes_and_bias(xt: Any, heads: int) -> None:
    # The peer multiplies up from the first slope in float64: one rounding a factor, up to 2·heads of them.
    peer = np.array(xt.AlibiPositionalBias._get_slopes(heads))
    assert np.abs(peer / ALiBi(heads=heads).slopes() - 1).max() <= (2 * heads + 4) * 2.0**-53
    query_positions, key_positions = torch.tensor([3, 17, 2]), torch.tensor([0, 5, 900, 17])
    bias = xt.AlibiPositionalBias(heads=heads).forward_custom_pos(query_positions, key_positions)
    # Slope and product round once each in both: 2 ulp of a bias of at most 900.
    assert (ALiBi(heads=heads).matrix(query_positions, key_positions) - bias).abs().max() <= 2 * 2.0**-23 * 900


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("buckets", "max_distance"), [(32, 128), (320, 800)])
def test_t5_buckets_and_bias(xt: Any, causal: bool, buckets: int, max_distance: int) -> None:
    encoding = T5Bias(heads=12, buckets=buckets, max_distance=max_distance, bidirectional=not causal)
    distance = torch.arange(-3000, 3001)
    peer = xt.RelativePositionBias._relative_position_bucket(distance, causal, buckets, max_distance)
    assert torch.equal(encoding.bucket(distance), peer)
    layer = xt.RelativePositionBias(1.0, causal=causal, num_buckets=buckets, max_distance=max_distance, heads=12)
    table = layer.relative_attention_bias.weight.detach()
    ours = encoding.matrix(torch.arange(10, 15), torch.arange(15), {"table": table})
    assert torch.equal(ours, layer(5, 15).detach())


def test_scaled_sinusoid(xt: Any) -> None:
    layer = xt.ScaledSinusoidalEmbedding(64)
    with torch.no_grad():
        peer = layer(torch.zeros(1, 500, 64))
    encoding = LearnedScale(Sinusoidal(dim=64, layout="concatenated"), initial=64**-0.5)
    ours = encoding.embed(torch.arange(500), {"scale": torch.tensor(64**-0.5)})
    # The peer's frequency is off by 3 ulp and its angle rounds once: 4 · 2^-23 · 500 of a radian, times the scale.
    assert (ours - peer).abs().max() <= (4 * 2.0**-23 * 500 + 2.0**-23) / 8


def test_scaled_sinusoid_frequencies(xt: Any) -> None:
    peer = xt.ScaledSinusoidalEmbedding(64).inv_freq.double().numpy()
    assert np.abs(peer / Sinusoidal(dim=64).frequencies.radians() - 1).max() <= 3 * 2.0**-23


def test_t5_bias_is_scaled_where_the_logits_are(xt: Any) -> None:
    layer = xt.RelativePositionBias(64**0.5, causal=True, heads=12)
    ours = T5Bias(heads=12, bidirectional=False, scale=64**0.5)
    table = layer.relative_attention_bias.weight.detach()
    assert torch.equal(ours.matrix(torch.arange(10, 15), torch.arange(15), {"table": table}), layer(5, 15).detach())


@pytest.mark.parametrize("log_distance", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_dynamic_position_bias(xt: Any, depth: int, log_distance: bool) -> None:
    torch.manual_seed(0)
    layer = xt.DynamicPositionBias(16, heads=12, depth=depth, log_distance=log_distance)
    first, *middle, last = (m for m in layer.modules() if isinstance(m, torch.nn.Linear))
    params = {"weight_in": first.weight[:, 0], "bias_in": first.bias, "weight_out": last.weight, "bias_out": last.bias}
    if middle:
        params["weight_hidden"] = torch.stack([m.weight for m in middle])
        params["bias_hidden"] = torch.stack([m.bias for m in middle])
    ours = DynamicPositionBias(heads=12, dim=16, depth=depth, log_distance=log_distance)
    with torch.no_grad():
        found, peer = ours.matrix(torch.arange(60, 70), torch.arange(70), params), layer(10, 70)
    # The peer's layers are sums of 17 float32 products each; every layer here is narrower in size than the distance,
    # 70.
    assert (found - peer).abs().max() <= (depth + 1) * 20 * 2.0**-24 * 70
    # The sign of the distance matters: queries minus keys.
    with torch.no_grad():
        assert (ours.matrix(torch.arange(70), torch.arange(60, 70), params).mT - peer).abs().max() > 1e-3


def test_polar_queries_and_keys(xt: Any) -> None:
    """Its angle is float32: position times frequency, rounded, plus the phase."""
    peer, encoding = xt.PolarEmbedding(16, heads=3), PoPE(dim=16, heads=3)
    with torch.no_grad():  # its own uniform start writes into a leaf, an error
        peer.learned_bias.uniform_(-8.0, 1.0, generator=torch.Generator().manual_seed(1))
    x, places = torch.randn(2, 3, 50, 16, generator=torch.Generator().manual_seed(0)), torch.arange(50)
    angles, phase = peer(places)
    params = {"phase": peer.learned_bias.detach()[:, 0]}
    for role, their in (("query", angles), ("key", angles + phase)):
        found = encoding.rotation(places, params, role=role)(x, layout="bhtd")
        # The angle is at most 50 + 2π, rounded three times; |softplus(x)| ≤ |x| + 1.
        assert (found - xt.apply_polar_pos_emb(x, their)).abs().max() <= 3 * 64 * 2.0**-24 * float(x.abs().max() + 1)
