"""Decoding: one new token in each of 32 sequences, each somewhere else, and one token alone."""

from __future__ import annotations

from typing import Any

import torch
from measuring.measure import Variant, compared
from measuring.ours import COPY, floors, in_place, kernels, references
from measuring.peers import peers
from measuring.problem import Pairs, Problem, Shape, name_of, problem

from posenc.kernels import native
from posenc.kernels.native import PACKED_LAYOUTS, packed_form

ALONE = "posenc, its operator alone"


def run() -> list[dict[str, Any]]:
    halves = [case(batch, dtype, "halves") for batch in (32, 1) for dtype in (torch.float32, torch.bfloat16)]
    return [*halves, *(case(batch, torch.float32, "adjacent") for batch in (32, 1))]


def case(batch: int, dtype: torch.dtype, pairing: Pairs) -> dict[str, Any]:
    given, compiled = problem("bhtd", dtype, pairing, shape=Shape(batch, 1), each=True), pairing == "halves"
    variants = (
        floors(given)
        | kernels(given)
        | {ALONE: lambda: alone(given)}
        | references(given, compiled=compiled)
        | peers(given, compiled=compiled)
    )
    return compared(f"batch {batch} {name_of(dtype)} {pairing}", COPY, variants, given.expected, given.bound)


def alone(given: Problem) -> Variant:
    """What is left of a call without Python around it: the operator, which looks at its arguments itself."""
    operator, rotation = native.operator("rotate_untraced_"), given.rotation
    form = packed_form(rotation.pairing) | PACKED_LAYOUTS[given.layout]
    return in_place(given, lambda q, k: operator(q, k, rotation.cos, rotation.sin, form))
