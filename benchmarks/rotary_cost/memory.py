"""New memory from the allocator as it comes, which maps and clears every large block anew."""

from __future__ import annotations

from typing import Any

import torch
from measuring.measure import compared
from measuring.ours import COPY, floors, kernels
from measuring.peers import peers
from measuring.problem import name_of, problem

from posenc.core.rotation import Layout

LAYOUTS: tuple[Layout, ...] = ("bthd", "bhtd")
DTYPES = (torch.float32, torch.bfloat16)


def run() -> list[dict[str, Any]]:
    return [case(layout, dtype) for layout in LAYOUTS for dtype in DTYPES]


def case(layout: Layout, dtype: torch.dtype) -> dict[str, Any]:
    given = problem(layout, dtype)
    variants = floors(given) | kernels(given) | peers(given, compiled=False)
    return compared(f"{layout} {name_of(dtype)} halves", COPY, variants, given.expected, given.bound, rounds=5)
