"""Cosines and sines made in the kernel from positions, against a table of them that is there already."""

from __future__ import annotations

from typing import Any

import torch
from measuring.measure import Maker, compared
from measuring.ours import COPY, IN_PLACE, MADE, floors, in_place, kernels
from measuring.problem import name_of, problem

import posenc.torch
from posenc.core.rotation import Layout

LAYOUTS: tuple[Layout, ...] = ("bthd", "bhtd")


def run() -> list[dict[str, Any]]:
    return [case(layout, dtype) for layout in LAYOUTS for dtype in (torch.float32, torch.bfloat16)]


def case(layout: Layout, dtype: torch.dtype) -> dict[str, Any]:
    given = problem(layout, dtype)

    def rotation_made(q: torch.Tensor, k: torch.Tensor) -> None:
        posenc.torch.rotate_(q, k, posenc.torch.rotation(given.encoding, given.places), layout=layout, impl="native")

    ready = kernels(given)
    variants: dict[str, Maker] = {
        **{COPY: floors(given)[COPY], IN_PLACE: ready[IN_PLACE], MADE: ready[MADE]},
        "posenc, table made, in place": lambda: in_place(given, rotation_made),
    }
    return compared(f"{layout} {name_of(dtype)} halves", COPY, variants, given.expected, given.bound)
