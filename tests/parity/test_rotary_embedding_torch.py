"""Against rotary-embedding-torch 0.9.1, live: adjacent pairs."""

from __future__ import annotations

import warnings
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
import torch

from posenc import Partial, RoPE


@pytest.fixture(scope="module")
def rotary() -> Any:
    module = pytest.importorskip("rotary_embedding_torch")
    assert version("rotary-embedding-torch") == "0.9.1"
    return module


def made(rotary: Any, dim: int, base: float = 10_000.0) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rotary.RotaryEmbedding(dim=dim, theta=base)


@pytest.mark.parametrize(("dim", "base"), [(64, 10_000.0), (128, 500_000.0), (10, 100.0)])
def test_frequencies_are_bit_equal_and_near_the_exact_ones(rotary: Any, dim: int, base: float) -> None:
    peer = made(rotary, dim, base).freqs.detach()
    encoding = RoPE(dim=dim, base=base)
    assert torch.equal(encoding.frequencies.float32(torch.zeros(())), peer)
    # Power and quotient in float32: 3 units in the last place.
    assert np.abs(peer.double().numpy() / encoding.frequencies.radians() - 1).max() <= 3 * 2.0**-23


@pytest.mark.parametrize("offset", [0, 4000])
def test_tables_and_rotated_tensors_are_bit_equal(rotary: Any, offset: int) -> None:
    peer, positions = made(rotary, 32), torch.arange(offset, offset + 50)
    rotation = RoPE(dim=32, numerics="float32").rotation(positions)
    angles = peer(peer.get_seq_pos(50, offset=offset, device="cpu", dtype=torch.float32), seq_len=50, offset=offset)
    assert torch.equal(rotation.cos, angles.cos()[:, ::2])
    assert torch.equal(rotation.sin, angles.sin()[:, 1::2])
    q = torch.randn(2, 12, 50, 32, generator=torch.Generator().manual_seed(0))
    assert torch.equal(rotation(q, layout="bhtd"), peer.rotate_queries_or_keys(q, offset=offset))
    halves = RoPE(dim=32, pairing="halves", numerics="float32").rotation(positions)
    assert (halves(q, layout="bhtd") - peer.rotate_queries_or_keys(q, offset=offset)).abs().max() > 0.5


def test_a_narrower_rotation_passes_the_other_channels(rotary: Any) -> None:
    q = torch.randn(2, 3, 9, 24, generator=torch.Generator().manual_seed(1))
    rotation = Partial(RoPE(dim=16, numerics="float32"), dim=24).rotation(torch.arange(9))
    assert torch.equal(rotation(q, layout="bhtd"), made(rotary, 16).rotate_queries_or_keys(q))
