"""Against diffusers 0.42.1, live: its sinusoidal tables and its rotary embedding; frequencies first, then tables, then
outputs."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.metadata import version
from typing import Any

import pytest
import torch

from posenc import Linear, NTKAware, RoPE, Sinusoidal

LIKE = torch.zeros(())


@pytest.fixture(scope="module")
def peer() -> Any:
    pytest.importorskip("diffusers")
    assert version("diffusers") == "0.42.1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("diffusers.models.embeddings")


@pytest.mark.parametrize("first", ["sine", "cosine"])
@pytest.mark.parametrize("dim", [2, 64, 320])
def test_sines_of_float64_are_the_exact_ones(peer: Any, dim: int, first: str) -> None:
    """Angles in float64, good to 2^-53·300·4: both round to one float32, or to its neighbour."""
    theirs = peer.get_1d_sincos_pos_embed_from_grid(dim, torch.arange(300.0), flip_sin_to_cos=first == "cosine")
    ours = Sinusoidal(dim=dim, layout="concatenated", first=first).embed(torch.arange(300))
    assert (ours - theirs).abs().max() <= 2.0**-24 + 2.0**-40


def test_the_table_of_2017_is_bit_equal(peer: Any) -> None:
    theirs = peer.SinusoidalPositionalEmbedding(48, max_seq_length=600).pe[0]
    assert torch.equal(Sinusoidal(dim=48, numerics="float32").embed(torch.arange(600)), theirs)


@pytest.mark.parametrize(("dim", "base"), [(64, 10_000.0), (128, 500_000.0), (10, 256.0)])
def test_rotary_tables_are_bit_equal(peer: Any, dim: int, base: float) -> None:
    rotation = RoPE(dim=dim, base=base, numerics="float32").rotation(torch.arange(300))
    for together, of_cosine, of_sine in (
        (True, slice(0, None, 2), slice(1, None, 2)),
        (False, slice(dim // 2), slice(dim // 2, None)),
    ):
        cosine, sine = peer.get_1d_rotary_pos_embed(dim, 300, base, use_real=True, repeat_interleave_real=together)
        assert torch.equal(rotation.cos, cosine[:, of_cosine])
        assert torch.equal(rotation.sin, sine[:, of_sine])


def test_rotary_tables_of_float64_are_the_exact_ones(peer: Any) -> None:
    """As Flux asks for them. Positions of 10^6 in float64: an angle is off by 10^6·3·2^-53, below half of 2^-24."""
    far = torch.arange(1_000_000, 1_000_300)
    cosine, sine = peer.get_1d_rotary_pos_embed(64, far, use_real=True, freqs_dtype=torch.float64)
    rotation = RoPE(dim=64).rotation(far)
    assert (rotation.cos - cosine[:, ::2]).abs().max() <= 2.0**-24
    assert (rotation.sin - sine[:, ::2]).abs().max() <= 2.0**-24


@pytest.mark.parametrize(("pairing", "unbind"), [("adjacent", -1), ("halves", -2)])
def test_rotated_tensors_are_bit_equal(peer: Any, pairing: str, unbind: int) -> None:
    x = torch.randn(2, 3, 40, 32, generator=torch.Generator().manual_seed(0))
    freqs = peer.get_1d_rotary_pos_embed(32, 40, use_real=True, repeat_interleave_real=unbind == -1)
    theirs = peer.apply_rotary_emb(x, freqs, use_real_unbind_dim=unbind)
    rotation = RoPE(dim=32, pairing=pairing, numerics="float32").rotation(torch.arange(40))
    assert torch.equal(rotation(x, layout="bhtd"), theirs)


def test_complex_tensors(peer: Any) -> None:
    x = torch.randn(2, 40, 3, 32, generator=torch.Generator().manual_seed(0))
    theirs = peer.apply_rotary_emb(x, peer.get_1d_rotary_pos_embed(32, 40)[None], use_real=False)
    ours = RoPE(dim=32, numerics="float32").rotation(torch.arange(40))(x, layout="bthd")
    # Products of a complex number may be fused, where ours are rounded: half a unit of a sum below 8.
    assert (ours - theirs).abs().max() <= 4 * 2.0**-24 * 8


def test_linear_factor(peer: Any) -> None:
    """The peer divides the rounded frequency, as Linear with float32 numerics does."""
    cosine, _ = peer.get_1d_rotary_pos_embed(32, 40, use_real=True, linear_factor=3.0)
    rotation = RoPE(dim=32, numerics="float32", scaling=Linear(3.0)).rotation(torch.arange(40))
    assert torch.equal(rotation.cos, cosine[:, ::2])


def test_ntk_factor_multiplies_the_base_and_nothing_more(peer: Any) -> None:
    """It is another base, not the NTK rule, whose exponent d/(d-2) it leaves out."""
    cosine, _ = peer.get_1d_rotary_pos_embed(32, 40, use_real=True, ntk_factor=8.0)
    assert torch.equal(RoPE(dim=32, base=80_000.0, numerics="float32").rotation(torch.arange(40)).cos, cosine[:, ::2])
    ntk = RoPE(dim=32, numerics="float32", scaling=NTKAware(8.0)).rotation(torch.arange(40))
    assert (ntk.cos - cosine[:, ::2]).abs().max() > 0.03
