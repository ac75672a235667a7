"""Against the layers of timm 1.0.31, live, on one axis: bands first, then tables, then rotated tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from posenc import FourierFeatures, RoPE, Sinusoidal

LIKE, LENGTH, DIM = torch.zeros(()), 50, 24
DRAWN = f"torch.randn(2, 3, {LENGTH}, {DIM}, generator=torch.Generator().manual_seed(0))"
ROTATED = (
    "layers.apply_rot_embed_cat(" + DRAWN + ", torch.cat(layers.build_rotary_pos_embed("
    f"[{LENGTH}], dim={2 * DIM}, in_pixels=False, temperature=100.0, rotate_half={{0}}), -1), half={{0}})"
)


@pytest.fixture(scope="module")
def peer(timm: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    return timm(
        bands="layers.freq_bands(32, temperature=10000.0, step=1)",
        every_other="layers.freq_bands(64, temperature=500000.0, step=2)",
        linear="layers.pixel_freq_bands(6, 16.0, linear_bands=True)",
        octaves="layers.pixel_freq_bands(6, 2.0**6, linear_bands=False)",
        sines=f"layers.build_sincos2d_pos_embed([{LENGTH}], dim={2 * DIM})",
        fourier="torch.cat(layers.pos_embed_sincos.build_fourier_pos_embed("
        "[17], num_bands=6, max_res=16, linear_bands=True, include_grid=True), -1)[:, 0]",
        table=f"layers.build_rotary_pos_embed([{LENGTH}], dim={2 * DIM}, in_pixels=False, temperature=100.0)",
        adjacent=ROTATED.format(False),
        halves=ROTATED.format(True),
    )


def test_bands_are_bit_equal(peer: dict[str, Any]) -> None:
    assert torch.equal(RoPE(dim=64).frequencies.float32(LIKE), peer["bands"])
    assert torch.equal(RoPE(dim=64, base=500_000.0).frequencies.float32(LIKE), peer["every_other"])


def test_pixel_bands(peer: dict[str, Any]) -> None:
    """Evenly spaced from 1 to half the resolution, times π: three roundings of float32; octaves raise a power, two
    more."""
    linear = FourierFeatures(6, "linear", 16.0).frequencies.radians()
    assert np.abs(peer["linear"].double().numpy() / linear - 1).max() <= 4 * 2.0**-24
    octaves = FourierFeatures(6, "logarithmic", 2.0**6).frequencies.radians()
    assert np.abs(peer["octaves"].double().numpy() / octaves - 1).max() <= 8 * 2.0**-24


def test_a_table_of_sines_and_cosines(peer: dict[str, Any]) -> None:
    """On one axis `dim` of the peer is twice the width. Frequencies are off by 3 ulp and angles of 50 round once."""
    ours = Sinusoidal(dim=DIM, layout="concatenated").embed(torch.arange(LENGTH))
    assert (ours - peer["sines"]).abs().max() <= 8 * 2.0**-24 * LENGTH + 2.0**-24


def test_fourier_features_with_the_coordinate(peer: dict[str, Any]) -> None:
    encoding = FourierFeatures(6, "linear", 16.0, "concatenated", coordinate=True)
    # The band rounds three times, the grid and the product once each: 5 half units of an angle of at most 8π.
    bound = 5 * 2.0**-24 * 8 * np.pi + 2.0**-24
    assert (encoding.embed(torch.linspace(-1, 1, 17)) - peer["fourier"]).abs().max() <= bound


def test_rotary_tables_are_bit_equal(peer: dict[str, Any]) -> None:
    rotation = RoPE(dim=DIM, base=100.0, numerics="float32").rotation(torch.arange(LENGTH))
    sine, cosine = peer["table"]
    assert torch.equal(rotation.sin, sine[:, ::2])
    assert torch.equal(rotation.cos, cosine[:, 1::2])


@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_rotated_tensors_are_bit_equal(peer: dict[str, Any], pairing: str) -> None:
    x = eval(DRAWN, {"torch": torch})
    rotation = RoPE(dim=DIM, base=100.0, pairing=pairing, numerics="float32").rotation(torch.arange(LENGTH))
    assert torch.equal(rotation(x, layout="bhtd"), peer[pairing])
    other = "halves" if pairing == "adjacent" else "adjacent"
    assert (rotation(x, layout="bhtd") - peer[other]).abs().max() > 0.5
