"""Plain PyTorch, for where the compiled kernel is not: never slower than what it stands next to."""

from __future__ import annotations

from typing import Any

import torch
from measuring.measure import Maker, compared, timed
from measuring.ours import COPY, floors, in_place
from measuring.peers import peers
from measuring.problem import Pairs, Problem, Shape, name_of, problem

from posenc.core.rotation import Layout
from posenc.torch import rotate, rotate_

LAYOUTS: tuple[Layout, ...] = ("bthd", "bhtd")
PAIRINGS: tuple[Pairs, ...] = ("halves", "adjacent")
IN_PLACE, NEW = "posenc in PyTorch, in place", "posenc in PyTorch, new memory"


def run() -> list[dict[str, Any]]:
    shapes = [(pairing, dtype) for pairing in PAIRINGS for dtype in (torch.float32, torch.bfloat16)]
    long = [
        case(f"4096 tokens {layout} {name_of(dtype)} {pairing}", problem(layout, dtype, pairing))
        for layout in LAYOUTS
        for pairing, dtype in shapes
    ]
    short = [
        case(f"batch {batch} {name_of(dtype)} halves", problem("bhtd", dtype, shape=Shape(batch, 1), each=True))
        for batch in (32, 1)
        for dtype in (torch.float32, torch.bfloat16)
    ]
    return long + short


def case(name: str, given: Problem) -> dict[str, Any]:
    layout, rotation = given.layout, given.rotation
    variants: dict[str, Maker] = {
        COPY: floors(given)[COPY],
        IN_PLACE: lambda: in_place(given, lambda q, k: rotate_(q, k, rotation, layout=layout, impl="torch")),
        NEW: lambda: timed(lambda: rotate(*given.pair, rotation, layout=layout, impl="torch")),
    }
    return compared(name, COPY, variants | peers(given, compiled=False), given.expected, given.bound, rounds=7)
