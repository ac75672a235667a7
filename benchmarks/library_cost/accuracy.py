"""How far what is applied lies from what is true: cosines and sines at any position, and results rounded to 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import torch
from measuring.problem import DIM

import posenc
import posenc.torch
from posenc.torch import rotate_

POSITIONS, FARTHEST = 160, 10_000_000
#: Turns queries of one head, (1, 1, places, DIM), where they are.
Rotated = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def run() -> list[dict[str, Any]]:
    return [angles(), rounding(), table()]


def places() -> torch.Tensor:
    """Positions of every size up to 10 million, among them the ends."""
    rng = np.random.default_rng(0)
    drawn = np.exp(rng.uniform(0.0, np.log(FARTHEST), POSITIONS - 4)).astype(np.int64)
    return torch.as_tensor(np.concatenate([drawn, [0, 1, FARTHEST - 1, FARTHEST]]))


def true(where: torch.Tensor, encoding: posenc.RoPE) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines by mpmath, to 40 digits before they are rounded to float64."""
    with mpmath.workdps(40):
        frequencies = [mpmath.mpf(encoding.base) ** (-mpmath.mpf(2 * i) / DIM) for i in range(DIM // 2)]
        both = [[mpmath.cos_sin(position * frequency) for frequency in frequencies] for position in where.tolist()]
        cosine, sine = ([[float(pair[part]) for pair in row] for row in both] for part in (0, 1))
    return np.array(cosine), np.array(sine)


def solutions(encoding: posenc.RoPE) -> dict[str, Rotated]:
    """What turns heads at given places."""

    def from_rotation(impl: Any) -> Rotated:
        def rotated(q: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
            return rotate_(q, q.clone(), encoding.rotation(where), layout="bhtd", impl=impl)[0]

        return rotated

    def from_angles(q: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
        angles = posenc.torch.angles(encoding, where)
        return rotate_(q, q.clone(), angles, layout="bhtd", impl="native")[0]

    return {
        "posenc reference": from_rotation("reference"),
        "posenc, from a rotation": from_rotation("native"),
        "posenc, angles in the kernel": from_angles,
    }


def measured(case: str, make: Callable[[Rotated], float], encoding: posenc.RoPE) -> dict[str, Any]:
    values: dict[str, float] = {}
    left_out: dict[str, str] = {}
    for name, rotated in solutions(encoding).items():
        try:
            values[name] = make(rotated)
        except Exception as error:
            left_out[name] = f"{type(error).__name__}: {error}".split("\n")[0][:300]
    return {"case": case, "values": values, "left out": left_out}


def angles() -> dict[str, Any]:
    """Unit vectors rotated are cosines and sines."""
    encoding, where = posenc.RoPE(dim=DIM, pairing="halves"), places()
    cosine, sine = true(where, encoding)

    def error(rotated: Rotated) -> float:
        unit = torch.zeros(1, 1, POSITIONS, DIM)
        unit[..., : DIM // 2] = 1.0
        found = rotated(unit, where)[0, 0].double().numpy()
        return float(np.abs(found - np.concatenate([cosine, sine], -1)).max())

    return measured("largest error of cosines and sines, float32, positions to 10 million", error, encoding)


def rounding() -> dict[str, Any]:
    """Percent of bfloat16 results that are not the number nearest to the true one."""
    encoding, where = posenc.RoPE(dim=DIM, pairing="halves"), torch.arange(0, 40_960, 10)
    q = torch.randn(1, 1, len(where), DIM, generator=torch.Generator().manual_seed(0)).bfloat16()
    nearest = encoding.rotation(where, dtype=torch.float64)(q.double(), layout="bhtd").bfloat16()

    def share(rotated: Rotated) -> float:
        return 100.0 * (rotated(q.clone(), where) != nearest).double().mean().item()

    return measured("percent of bfloat16 results not rounded correctly", share, encoding)


def table() -> dict[str, Any]:
    """Rows of the sinusoidal table of 100 000 × 1024, against float64, whose angles are good to 1e-11 there."""
    encoding, where = posenc.Sinusoidal(dim=1024), torch.arange(99_999, 0, -997)
    angle = where.double()[:, None] * torch.as_tensor(encoding.frequencies.radians())
    exact = torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
    every = posenc.torch.table(encoding, torch.arange(100_000))  # by the kernel, where it is installed
    tables = {"posenc, exact": encoding.embed(where), "posenc, table": every[where]}
    gaps = {name: (made.double() - exact).abs().max().item() for name, made in tables.items()}
    return {"case": "largest error of the sinusoidal table", "values": gaps, "left out": {}}
