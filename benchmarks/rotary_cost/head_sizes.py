"""Prefill at other shapes: heads smaller than 128, among them sizes whose pairs fill no whole number of vectors."""

from __future__ import annotations

from typing import Any

import torch
from measuring.measure import compared
from measuring.ours import COPY, floors, kernels
from measuring.problem import Pairs, Shape, name_of, problem

SHAPES = (
    Shape(2, 3000, 24, 6, 96),
    Shape(2, 2048, 16, 16, 64),
    Shape(1, 4096, 16, 16, 80),  # the vision tower of Qwen2-VL
    Shape(1, 4096, 16, 16, 72),  # the vision tower of Qwen3-VL
    Shape(1, 4096, 16, 16, 50),  # 25 pairs: no vector of any size divides them
)
PAIRINGS: tuple[Pairs, ...] = ("halves", "adjacent")


def run() -> list[dict[str, Any]]:
    return [
        case(shape, dtype, pairing)
        for shape in SHAPES
        for dtype in (torch.float32, torch.bfloat16)
        for pairing in PAIRINGS
    ]


def case(shape: Shape, dtype: torch.dtype, pairing: Pairs) -> dict[str, Any]:
    given = problem("bthd", dtype, pairing, shape=shape)
    variants = floors(given) | kernels(given)
    return compared(f"{shape} {name_of(dtype)} {pairing}", COPY, variants, given.expected, given.bound, rounds=15)
