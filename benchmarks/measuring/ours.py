"""The ways posenc turns a problem, each to be timed with the peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from measuring.measure import Maker, Variant, floor, timed
from measuring.problem import Problem

import posenc.torch
from posenc.torch import rotate, rotate_

COPY, MULTIPLY, CLONE = "copy_ of q and k", "mul_ in place", "clone of q and k"
IN_PLACE, NEW = "posenc, in place", "posenc, new memory"
MADE, MADE_NEW = "posenc, angles in the kernel, in place", "posenc, angles in the kernel, new memory"
REFERENCE, COMPILED = "posenc reference", "posenc reference compiled"


def floors(given: Problem) -> dict[str, Maker]:
    """Reading and writing as many bytes: into other memory, in place, and into memory asked for anew."""
    out, hot = given.copies(), given.copies()

    def copy() -> None:
        for to, x in zip(out, given.pair, strict=True):
            to.copy_(x)

    def multiply() -> None:
        for x in hot:
            x.mul_(1.0)

    return {COPY: floor(copy), MULTIPLY: floor(multiply), CLONE: floor(given.copies)}


def in_place(given: Problem, rotated: Callable[[torch.Tensor, torch.Tensor], Any]) -> Variant:
    """What turns its arguments: timed on the same memory again and again, compared on fresh copies."""
    hot = given.copies()
    return Variant(lambda: rotated(*hot), lambda: _rotated(given, rotated))


def _rotated(given: Problem, rotated: Callable[[torch.Tensor, torch.Tensor], Any]) -> tuple[torch.Tensor, torch.Tensor]:
    fresh = given.copies()
    rotated(*fresh)
    return fresh


def kernels(given: Problem) -> dict[str, Maker]:
    """The compiled kernel, from a rotation that is ready, and from angles, whose cosines and sines it makes itself."""

    def rotated_by(made: Callable[[], Any]) -> Maker:
        def make() -> Variant:
            by = made()
            return in_place(given, lambda q, k: rotate_(q, k, by, layout=given.layout, impl="native"))

        return make

    def into_new_by(made: Callable[[], Any]) -> Maker:
        def make() -> Variant:
            by = made()
            return timed(lambda: rotate(*given.pair, by, layout=given.layout, impl="native"))

        return make

    def angles() -> Any:
        return posenc.torch.angles(given.encoding, given.places)

    return {
        IN_PLACE: rotated_by(lambda: given.rotation),
        NEW: into_new_by(lambda: given.rotation),
        MADE: rotated_by(angles),
        MADE_NEW: into_new_by(angles),
    }


def references(given: Problem, *, compiled: bool = True) -> dict[str, Maker]:
    """The definition itself, in PyTorch's own operators, and the same through torch.compile."""
    rotation = given.rotation

    def rotated(q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return rotation(q, layout=given.layout), rotation(k, layout=given.layout)

    def machine_code() -> Variant:
        run = torch.compile(rotated, dynamic=False, fullgraph=True)
        return timed(lambda: run(*given.pair))

    made: dict[str, Maker] = {REFERENCE: lambda: timed(lambda: rotated(*given.pair))}
    return made | ({COMPILED: machine_code} if compiled else {})
