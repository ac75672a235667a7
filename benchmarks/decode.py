"""Decoding: one new token in each of 32 sequences, each somewhere else, and one token alone."""

from __future__ import annotations

from typing import Any

import torch
from measure import compared
from ours import COPY, floors, kernels, references
from peers import peers
from problem import Pairs, name_of, problem


def run() -> list[dict[str, Any]]:
    halves = [case(batch, dtype, "halves") for batch in (32, 1) for dtype in (torch.float32, torch.bfloat16)]
    return [*halves, *(case(batch, torch.float32, "adjacent") for batch in (32, 1))]


def case(batch: int, dtype: torch.dtype, pairing: Pairs) -> dict[str, Any]:
    given, compiled = problem("bhtd", dtype, pairing, batch=batch, time=1, each=True), pairing == "halves"
    variants = floors(given) | kernels(given) | references(given, compiled=compiled) | peers(given, compiled=compiled)
    return compared(f"batch {batch} {name_of(dtype)} {pairing}", COPY, variants, given.expected, given.bound)
