"""Compiled with dynamic sizes, code serves the first length and another: also where the first is the size of a table
that posenc brings along, five limbs or half of `dim`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.fx.experimental.symbolic_shapes import is_concrete_int

from posenc import FoPE, PoPE, RoPE, Sinusoidal, SphericalRoPE
from posenc.core import arrays
from posenc.torch import module, rotate, rotation

DIM, OTHER = 32, 71
ROTATION, SUM = RoPE(dim=DIM), Sinusoidal(dim=DIM)
LAYER, ADDED = module(ROTATION), module(SUM)
#: Sizes of tables, one more and one less, and those between.
LENGTHS = (*range(1, 9), *range(14, 19), *range(30, 35), 62, 63, 64, 65, 70)


def _rotation(positions: Any) -> tuple[Any, ...]:
    made = ROTATION.rotation(positions)
    return made.cos, made.sin


def _heads(positions: Any) -> tuple[Any, Any]:
    return (torch.ones(1, 2, 1, DIM) * positions[:, None], torch.ones(1, 1, 1, DIM) * positions[:, None])


CALLS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "RoPE.turn": _rotation,
    "Sinusoidal.embed": lambda positions: (SUM.embed(positions),),
    "Rotate": lambda positions: LAYER(*_heads(positions), positions, positions, layout="bhtd"),
    "Add": lambda positions: (ADDED(torch.ones(positions.shape[0], DIM), positions),),
    "rotate": lambda positions: rotate(*_heads(positions), rotation(ROTATION, positions), layout="bhtd"),
}


def _with_whole_tables(graph: Any, inputs: Any) -> Any:
    """A backend that refuses tables of unknown size, which inductor would take for inputs of the first length."""
    for node in graph.graph.nodes:
        if node.op == "placeholder" and "l_positions_" not in node.name:
            shape = getattr(node.meta["example_value"], "shape", ())
            assert all(is_concrete_int(size) for size in shape), (node.name, shape)
    return graph.forward


@pytest.mark.nightly
@pytest.mark.parametrize("length", LENGTHS)
def test_every_first_length(length: int) -> None:
    for name, call in CALLS.items():
        torch._dynamo.reset()
        compiled = torch.compile(call, dynamic=True, fullgraph=True, backend=_with_whole_tables)
        for n in (length, OTHER):
            positions = torch.arange(n) + 7
            found, expected = compiled(positions), call(positions)
            assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True)), (name, length, n)


@pytest.mark.nightly
@pytest.mark.parametrize("length", [5, DIM // 2])
def test_code_that_inductor_generates(length: int) -> None:
    for name, call in CALLS.items():
        torch._dynamo.reset()
        compiled = torch.compile(call, dynamic=True, fullgraph=True)
        for n in (length, OTHER):
            positions = torch.arange(n)
            for a, b in zip(compiled(positions), call(positions), strict=True):
                # A fused multiply-add saves a rounding.
                assert torch.allclose(a, b, rtol=0, atol=2.0**-22 * max(1.0, b.abs().max().item())), (name, n)


def test_a_table_of_the_host_has_a_fixed_size_while_compiling_and_a_free_one_while_exporting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lib = arrays.library(torch.zeros(1))
    fixed: list[torch.Tensor] = []
    monkeypatch.setattr(torch._dynamo, "mark_static", fixed.append)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    table = lib.constant([1.0, 2.0])
    assert [one is table for one in fixed] == [True]
    monkeypatch.setattr(torch.compiler, "is_exporting", lambda: True)
    assert lib.constant([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert len(fixed) == 1


@pytest.mark.parametrize("encoding", [FoPE(dim=4, heads=2, length=99), PoPE(dim=4, heads=2), SphericalRoPE(dim=6)])
def test_sizes_that_a_tracer_does_not_know_are_compared(encoding: Any) -> None:
    """Batch and heads are dynamic too: `size in (1, batch)` said no of sizes that are equal."""
    layer = module(encoding, seed=0)

    def call(x: Any, positions: Any) -> Any:
        return layer(x, x, positions, positions, layout="bhtd")

    torch._dynamo.reset()
    compiled = torch.compile(call, dynamic=True, fullgraph=True, backend="eager")
    for batch, length in ((3, 7), (5, 6)):
        x = torch.randn(batch, 2, length, encoding.head_dim)
        positions = torch.arange(length).expand(batch, length).contiguous()
        positions = positions if encoding.axes == 1 else positions[..., None].expand(batch, length, encoding.axes)
        for found, expected in zip(compiled(x, positions), call(x, positions), strict=True):
            torch.testing.assert_close(found, expected, rtol=0, atol=2.0**-20)
