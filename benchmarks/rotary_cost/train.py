"""Forward and backward of 4096 tokens: rotated, and gradients rotated back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from measuring.measure import Maker, Variant, compared, floor
from measuring.ours import IN_PLACE, MADE_NEW, NEW, kernels, references
from measuring.peers import peers
from measuring.problem import Pair, Problem, name_of, problem

from posenc.core.rotation import Layout
from posenc.torch import rotate_

FLOOR = "two copy_ of q and k"
LAYOUTS: tuple[Layout, ...] = ("bthd", "bhtd")


def run() -> list[dict[str, Any]]:
    return [case(layout, dtype) for layout in LAYOUTS for dtype in (torch.float32, torch.bfloat16)]


def case(layout: Layout, dtype: torch.dtype) -> dict[str, Any]:
    given = problem(layout, dtype)
    leaves = replace(given, q=given.q.clone().requires_grad_(), k=given.k.clone().requires_grad_())
    # What comes back is rotated as well, the other way.
    back = given.copies()
    rotation = given.rotation.inverse()
    expected = tuple(rotation(x.float(), layout=layout) for x in back)
    ready = kernels(leaves)
    forward = {NEW: ready[NEW], MADE_NEW: ready[MADE_NEW]} | references(leaves, compiled=False) | peers(leaves)
    variants = {
        FLOOR: two_copies(given),
        IN_PLACE: both_ways(lambda: in_place(leaves), leaves, back),
        **{name: both_ways(make, leaves, back) for name, make in forward.items()},
    }
    return compared(f"{layout} {name_of(dtype)} halves", FLOOR, variants, expected, given.bound, rounds=5)


def two_copies(given: Problem) -> Maker:
    out = given.copies()

    def copied() -> None:
        for _ in range(2):
            for to, x in zip(out, given.pair, strict=True):
                to.copy_(x)

    return floor(copied)


class Projected(torch.autograd.Function):
    """The same memory as a result, as of a projection, which may be rotated in place where a leaf may not. Costs
    nothing."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.detach()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


def in_place(leaves: Problem) -> Variant:
    """Forward where the tensors are, again and again; backward into new memory, which is what is compared."""

    def run() -> Any:
        q, k = (Projected.apply(x) for x in leaves.pair)
        return rotate_(q, k, leaves.rotation, layout=leaves.layout, impl="native")

    return Variant(run, run)


def both_ways(make: Maker, leaves: Problem, back: Pair) -> Maker:
    """The variant's result, and the gradient that these tensors give behind it."""

    def made() -> Variant:
        forward = make().run

        def run() -> tuple[torch.Tensor, ...]:
            return torch.autograd.grad(forward(), leaves.pair, back)

        return Variant(run, run)

    return made
