"""Building a table of cosines and sines."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from measure import ratios

import posenc

SHAPES = ((4096, 128), (131_072, 128))


def run() -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    return [_case(count, dim) for count, dim in SHAPES]


def _case(count: int, dim: int) -> dict[str, Any]:
    frequencies = posenc.RoPE(dim=dim).frequencies
    places, inverse = torch.arange(count), torch.as_tensor(frequencies.radians())
    host, out = np.arange(count), torch.empty(2, count, dim // 2)

    def float64() -> torch.Tensor:
        angle = places.double()[:, None] * inverse
        return torch.stack([angle.cos(), angle.sin()]).float()

    def float32() -> torch.Tensor:
        angle = places.float()[:, None] * inverse.float()
        return torch.stack([angle.cos(), angle.sin()])

    exact = torch.stack(posenc.cosine_sine(places, frequencies))
    gap = (exact - float64()).abs().max().item()
    if not gap < 1e-7:
        raise SystemExit(f"the exact table and the float64 table differ by {gap}")
    variants = {
        "fill_ of the same bytes": lambda: out.fill_(1.0),
        "posenc exact, torch": lambda: posenc.cosine_sine(places, frequencies),
        "posenc exact, NumPy": lambda: posenc.cosine_sine(host, frequencies, dtype=np.float32),
        "posenc float32, torch": lambda: posenc.cosine_sine(places, frequencies, numerics="float32"),
        "plain float64 angle, cast": float64,
        "plain float32 angle (as released)": float32,
    }
    return ratios(f"{count} positions × {dim // 2} pairs", "fill_ of the same bytes", variants, rounds=5)
