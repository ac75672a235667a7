"""Prefill: queries and keys of 4096 tokens, in both layouts of memory and both pairings of channels."""

from __future__ import annotations

from typing import Any

import torch
from measuring.measure import compared
from measuring.ours import COPY, floors, kernels, references
from measuring.peers import peers
from measuring.problem import Pairs, name_of, problem

from posenc.core.rotation import Layout

LAYOUTS: tuple[Layout, ...] = ("bthd", "bhtd")
PAIRINGS: tuple[Pairs, ...] = ("halves", "adjacent")
DTYPES = (torch.float32, torch.bfloat16)


def run() -> list[dict[str, Any]]:
    return [case(layout, dtype, pairing) for layout in LAYOUTS for dtype in DTYPES for pairing in PAIRINGS]


def case(layout: Layout, dtype: torch.dtype, pairing: Pairs) -> dict[str, Any]:
    given, compiled = problem(layout, dtype, pairing), pairing == "halves"  # compiling takes longer than measuring
    variants = floors(given) | kernels(given) | references(given, compiled=compiled) | peers(given, compiled=compiled)
    return compared(f"{layout} {name_of(dtype)} {pairing}", COPY, variants, given.expected, given.bound, rounds=7)
