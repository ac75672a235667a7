"""Against diffusers 0.42.1, live: the time step's embedding and the Gaussian projection."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
import torch

from posenc import RandomFourierFeatures, TimestepEmbedding

TIMES = torch.tensor([0.0, 1.0, 3.5, 17.0, 250.25, 999.0, 4_096.0])


@pytest.fixture(scope="module")
def peer() -> Any:
    pytest.importorskip("diffusers")
    assert version("diffusers") == "0.42.1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("diffusers.models.embeddings")


@pytest.mark.parametrize("dim", [2, 7, 64, 320])
@pytest.mark.parametrize("shift", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize(("scale", "period"), [(1.0, 10_000), (1_000.0, 10_000), (0.25, 1_000_000)])
def test_timestep_embedding_bit_for_bit(
    peer: Any, dim: int, shift: float, flip: bool, scale: float, period: int
) -> None:
    if shift >= dim // 2:
        with pytest.raises(ValueError, match=r"^shift must be below"):  # the peer divides by zero there
            TimestepEmbedding(dim=dim, shift=shift)
        return
    theirs = peer.get_timestep_embedding(
        TIMES, dim, flip_sin_to_cos=flip, downscale_freq_shift=shift, scale=scale, max_period=period
    )
    fields = {"dim": dim, "shift": shift, "flip": flip, "scale": scale, "max_period": period}
    assert torch.equal(TimestepEmbedding(numerics="float32", **fields).embed(TIMES), theirs)
    # Frequency, product and scale round once each: with |t·scale·ω| ≤ 4096·scale that is 4·2^-24 of it, and ln(period)
    # times the exponent's 2·2^-24 more in the frequency.
    lost = 4_096 * scale * (4 + 2 * np.log(period)) * 2.0**-24 + 2.0**-22
    assert (TimestepEmbedding(**fields).embed(TIMES) - theirs).abs().max() <= lost


def test_timestep_defaults_are_the_peers(peer: Any) -> None:
    theirs = peer.get_timestep_embedding(TIMES, 32)
    assert torch.equal(TimestepEmbedding(dim=32, numerics="float32").embed(TIMES), theirs)
    layer = peer.Timesteps(32, flip_sin_to_cos=True, downscale_freq_shift=0)
    assert torch.equal(TimestepEmbedding(dim=32, shift=0.0, flip=True, numerics="float32").embed(TIMES), layer(TIMES))


@pytest.mark.parametrize("flip", [False, True])
def test_gaussian_projection(peer: Any, flip: bool) -> None:
    encoding = RandomFourierFeatures(features=16, std=2.0, seed=5, first="cosine" if flip else "sine")
    layer = peer.GaussianFourierProjection(16, scale=2.0, log=False, flip_sin_to_cos=flip)
    layer.weight = torch.nn.Parameter(torch.tensor([2.0 * draw for draw in encoding.frequencies.draws()]))
    points = torch.linspace(-1, 1, 33)
    # Three products round once each, of a rotation of at most 2·max|b|, times 2π.
    size = 2 * np.pi * 2 * max(abs(draw) for draw in encoding.frequencies.draws())
    assert (encoding.embed(points) - layer(points).detach()).abs().max() <= 3 * 2.0**-24 * size + 2.0**-23
