"""Making tables: cosines and sines of a rotation, and the sinusoidal table of 100 000 rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from measuring.measure import Maker, compared, floor, timed

import posenc
import posenc.torch

FILL = "fill_ of the same bytes"
INTO = "posenc, kernel, into memory that is there"


def run() -> list[dict[str, Any]]:
    return [rotation(4096, 128), rotation(100_000, 1024), sinusoidal(100_000, 1024)]


def bound(count: int) -> float:
    """An angle in float32, of a rounded frequency and a rounded product, is away by a few roundings of its size."""
    return 4.0 * count * 2.0**-24


def rotation(count: int, dim: int) -> dict[str, Any]:
    encoding = posenc.RoPE(dim=dim)
    frequencies = encoding.frequencies
    places, inverse = torch.arange(count), torch.as_tensor(frequencies.radians())
    host, out, held = np.arange(count), torch.empty(2, count, dim // 2), torch.empty(2, count, dim // 2)
    rounds = 5 if count * dim < 2**26 else 3  # seconds each: three rounds tell enough

    def plain(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        angle = places.to(dtype)[:, None] * inverse.to(dtype)
        return angle.cos().float(), angle.sin().float()

    def on_the_host() -> tuple[torch.Tensor, torch.Tensor]:
        cos, sin = posenc.cosine_sine(host, frequencies, dtype=np.float32)
        return torch.from_numpy(cos), torch.from_numpy(sin)

    def by_kernel() -> tuple[torch.Tensor, torch.Tensor]:
        rotation = posenc.torch.rotation(encoding, places, impl="native")
        return rotation.cos, rotation.sin

    def into() -> tuple[torch.Tensor, torch.Tensor]:
        rotation = posenc.torch.rotation(encoding, places, out=(held[0], held[1]), impl="native")
        return rotation.cos, rotation.sin

    variants: dict[str, Maker] = {
        FILL: floor(lambda: out.fill_(1.0)),
        INTO: lambda: timed(into),
        "posenc, kernel": lambda: timed(by_kernel),
        "posenc, exact": lambda: timed(lambda: posenc.cosine_sine(places, frequencies)),
        "posenc, exact, NumPy": lambda: timed(on_the_host),
        'posenc, numerics="float32"': lambda: timed(
            lambda: posenc.cosine_sine(places, frequencies, numerics="float32")
        ),
        "plain float64 angle, cast": lambda: timed(lambda: plain(torch.float64)),
        "plain float32 angle": lambda: timed(lambda: plain(torch.float32)),
    }
    if rounds == 3:
        del variants["posenc, exact, NumPy"], variants['posenc, numerics="float32"']
    expected = plain(torch.float64)
    return compared(f"{count} positions × {dim // 2} pairs", FILL, variants, expected, bound(count), rounds=rounds)


def sinusoidal(count: int, dim: int) -> dict[str, Any]:
    encoding, places = posenc.Sinusoidal(dim=dim), torch.arange(count)
    out, held = torch.empty(count, dim), torch.empty(count, dim)
    inverse = torch.as_tensor(encoding.frequencies.radians())

    def plain(dtype: torch.dtype) -> torch.Tensor:
        """As the annotated transformer fills it: sines and cosines into every other column."""
        angle, table = places.to(dtype)[:, None] * inverse.to(dtype), torch.empty(count, dim)
        table[:, 0::2], table[:, 1::2] = angle.sin(), angle.cos()
        return table

    def positional_encodings() -> Any:
        from positional_encodings.torch_encodings import PositionalEncoding1D

        shape = torch.empty(1, count, 1).expand(1, count, dim)
        return timed(lambda: PositionalEncoding1D(dim)(shape)[0])

    variants: dict[str, Maker] = {
        FILL: floor(lambda: out.fill_(1.0)),
        INTO: lambda: timed(lambda: posenc.torch.table(encoding, places, out=held, impl="native")),
        "posenc, kernel": lambda: timed(lambda: posenc.torch.table(encoding, places, impl="native")),
        "posenc, exact": lambda: timed(lambda: encoding.embed(places)),
        "plain float64 angle, cast": lambda: timed(lambda: plain(torch.float64)),
        "plain float32 angle, annotated transformer": lambda: timed(lambda: plain(torch.float32)),
        "positional-encodings": positional_encodings,
    }
    expected = plain(torch.float64)
    return compared(f"{count} × {dim} sinusoidal", FILL, variants, expected, bound(count), rounds=3)
