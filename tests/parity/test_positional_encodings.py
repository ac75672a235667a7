"""Against positional-encodings 6.0.3, live, on one axis: frequencies first, then tables."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
import torch

from posenc import Sinusoidal


@pytest.fixture(scope="module")
def peer() -> Any:
    module = pytest.importorskip("positional_encodings.torch_encodings")
    assert version("positional-encodings") == "6.0.3"
    return module


@pytest.mark.parametrize("dim", [2, 10, 64, 512])
def test_frequencies(peer: Any, dim: int) -> None:
    """Power and quotient in float32: 3 units in the last place."""
    exact = torch.from_numpy(Sinusoidal(dim=dim).frequencies.radians())
    assert (peer.PositionalEncoding1D(dim).inv_freq.double() / exact - 1).abs().max() <= 3 * 2.0**-23


@pytest.mark.parametrize("dim", [10, 64, 7])
def test_tables(peer: Any, dim: int) -> None:
    """An odd width is the next even one without its last cosine."""
    theirs = peer.PositionalEncoding1D(dim)(torch.zeros(2, 300, dim))
    even = Sinusoidal(dim=dim + dim % 2).embed(torch.arange(300))
    # A frequency is off by 3 ulp, its angle rounds once, the wave once: of angles below 300.
    assert (even[:, :dim] - theirs).abs().max() <= 4 * 2.0**-23 * 300 + 2.0**-24
    assert torch.equal(theirs[0], theirs[1])


def test_an_odd_width_differs_from_ours(peer: Any) -> None:
    """There the frequencies are those of the even width, here those of the width itself: others after the first."""
    theirs = peer.PositionalEncoding1D(7)(torch.zeros(1, 100, 7))[0]
    ours = Sinusoidal(dim=7, odd="truncate").embed(torch.arange(100))
    assert (ours[:, :2] - theirs[:, :2]).abs().max() <= 4 * 2.0**-23 * 100 + 2.0**-24
    assert (ours - theirs).abs().max() > 1


def test_summer_adds_it(peer: Any) -> None:
    x = torch.randn(2, 20, 16, generator=torch.Generator().manual_seed(0))
    theirs = peer.Summer(peer.PositionalEncoding1D(16))(x)
    assert (x + Sinusoidal(dim=16).embed(torch.arange(20)) - theirs).abs().max() <= 4 * 2.0**-23 * 20 + 2.0**-22
