"""Against torchtune 0.6.1, live: the one file of its rotary embedding, which needs torch alone; adjacent pairs."""

from __future__ import annotations

import importlib.util
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch

from posenc import RoPE


@pytest.fixture(scope="module")
def rotary() -> Any:
    package = importlib.util.find_spec("torchtune")
    if package is None or not package.submodule_search_locations:
        pytest.skip("torchtune is not installed: pip install --no-deps torchtune==0.6.1")
    assert version("torchtune") == "0.6.1"
    path = Path(package.submodule_search_locations[0]) / "modules" / "position_embeddings.py"
    spec = importlib.util.spec_from_file_location("position_embeddings_of_torchtune", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.RotaryPositionalEmbeddings


@pytest.mark.parametrize(("dim", "base"), [(64, 10_000), (128, 500_000), (10, 100)])
def test_frequencies_and_tables_are_bit_equal(rotary: Any, dim: int, base: int) -> None:
    peer = rotary(dim=dim, max_seq_len=300, base=base)
    encoding = RoPE(dim=dim, base=float(base), numerics="float32")
    assert torch.equal(encoding.frequencies.float32(torch.zeros(())), peer.theta)
    rotation = encoding.rotation(torch.arange(300))
    assert torch.equal(rotation.cos, peer.cache[..., 0])
    assert torch.equal(rotation.sin, peer.cache[..., 1])


def test_rotated_tensors_are_bit_equal(rotary: Any) -> None:
    x = torch.randn(2, 13, 6, 32, generator=torch.Generator().manual_seed(0))
    peer, encoding = rotary(dim=32, max_seq_len=64), RoPE(dim=32, numerics="float32")
    assert torch.equal(encoding.rotation(torch.arange(13))(x, layout="bthd"), peer(x))
    places = torch.tensor([[0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2], list(range(50, 63))])
    assert torch.equal(encoding.rotation(places)(x, layout="bthd"), peer(x, input_pos=places))


def test_beyond_its_length_the_peer_has_no_row(rotary: Any) -> None:
    with pytest.raises(IndexError):
        rotary(dim=8, max_seq_len=4)(torch.ones(1, 1, 1, 8), input_pos=torch.tensor([[4]]))
    assert RoPE(dim=8).rotation(torch.tensor([[4]]))(torch.ones(1, 1, 1, 8), layout="bthd").isfinite().all()
