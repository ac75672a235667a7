"""Learned frequencies in a compiled program: one operator, with the numbers and gradients of the definition."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from posenc import CayleySTRING, LearnedRoPE, MixedRoPE, MultiplicativeGRAPE
from posenc.core.checked_positions import checked
from posenc.core.doors import RotaryEncoding
from posenc.phase import cos_sin_of_learned
from posenc.torch import module
from posenc.torch.modules.learned_operator import with_operator

BY_NIGHT = [LearnedRoPE(dim=8), MixedRoPE(dim=8), CayleySTRING(dim=6, axes=2)]
RECORDS = [
    LearnedRoPE(dim=6, base=100.0, pairing="halves"),
    MultiplicativeGRAPE(dim=5),
    *(pytest.param(encoding, marks=pytest.mark.nightly) for encoding in BY_NIGHT),
]
OPERATOR = torch.ops.posenc.cos_sin_of_learned.default


def positions_of(encoding: RotaryEncoding, count: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Near ones, far ones and negative ones."""
    row = torch.tensor([0, 1, 2_001, -7, 2**31 + 5, 3, 2**45 + 1, 12, 1, 5])[:count].to(dtype)
    return row if encoding.axes == 1 else torch.stack([row, row.flip(0)], -1)


def gradients(
    layer: Any, call: Any, encoding: RotaryEncoding, positions: torch.Tensor, dtype: torch.dtype
) -> list[Any]:
    """Rotated queries and keys, and the gradients of queries, frequencies and positions."""
    draws = torch.Generator().manual_seed(0)
    q = torch.randn(2, 3, len(positions), encoding.head_dim, generator=draws).to(dtype).requires_grad_()
    if positions.is_floating_point():
        positions = positions.clone().requires_grad_()
    rotated = call(q, positions)
    wanted = [q, *layer.parameters(), *([positions] if positions.requires_grad else [])]
    weights = torch.randn(rotated[0].shape, generator=draws).to(dtype)
    return [*rotated, *torch.autograd.grad((rotated[0] * weights + rotated[1]).sum(), wanted)]


@pytest.mark.parametrize("encoding", RECORDS)
@pytest.mark.parametrize("kind", [pytest.param("integers", marks=pytest.mark.nightly), "fractions"])
def test_one_operator_with_the_numbers_of_the_definition(encoding: RotaryEncoding, kind: str) -> None:
    layer, graphs = module(encoding, seed=0), []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append([node.target for node in graph.graph.nodes if node.op == "call_function"])
        return graph.forward

    def call(q: Any, positions: Any) -> Any:
        return layer(q, q, positions, positions, layout="bhtd")

    torch._dynamo.reset()
    compiled = torch.compile(call, fullgraph=True, dynamic=True, backend=backend)
    for count, dtype in ((7, torch.float32), (5, torch.bfloat16), (10, torch.float64)):
        at = positions_of(encoding, count, torch.int64 if kind == "integers" else torch.float64)
        at = at if kind == "integers" else at + 0.25
        found, expected = (gradients(layer, each, encoding, at, dtype) for each in (compiled, call))
        for one, other in zip(found[:3], expected[:3], strict=True):
            assert torch.equal(one, other)
        for one, other in zip(found[3:], expected[3:], strict=True):
            # The sums of the gradients are formed in another order, in float64, and rounded once.
            size = float(at.abs().max()) * 3 * count
            torch.testing.assert_close(one, other, rtol=2.0**-20, atol=size * 2.0**-50)
    operators = 2 if isinstance(encoding, CayleySTRING) else 1  # one for each axis, whose rotations are multiplied
    assert all(targets.count(torch.ops.posenc.cos_sin_of_learned) == operators for targets in graphs)
    assert all(len(targets) < 150 for targets in graphs)  # the fixed point itself is 300


def test_what_eager_code_refuses_is_nan() -> None:
    layer, q = module(LearnedRoPE(dim=4)), torch.ones(1, 1, 2, 4)
    far = torch.tensor([1, 2**60])
    compiled = torch.compile(lambda q: layer(q, q, far, far, layout="bhtd")[0], fullgraph=True, backend="aot_eager")
    found = compiled(q)[0, 0]
    assert (found[0].isnan().any(), found[1].isnan().all()) == (False, True)


def test_the_operator_is_registered_as_pytorch_asks() -> None:
    at, frequencies = torch.tensor([[0.5], [3.0]], dtype=torch.float64), torch.tensor([[1.0, 0.1]], dtype=torch.float64)
    arguments = at.requires_grad_(), frequencies.requires_grad_()
    torch.library.opcheck(OPERATOR, arguments)
    torch.autograd.gradcheck(OPERATOR, arguments)
    torch.autograd.gradgradcheck(OPERATOR, arguments)


class Halved(LearnedRoPE):
    def rotation(self, positions: Any, params: Any = None, **options: Any) -> Any:
        return super().rotation(positions, {"frequencies": params["frequencies"] / 2}, **options)


def test_a_subclass_that_turns_otherwise_is_asked_itself() -> None:
    layer, q, at = module(Halved(dim=4)), torch.ones(1, 1, 3, 4), torch.arange(3)

    def call(q: Any) -> Any:
        return layer(q, q, at, at, layout="bhtd")[0]

    torch._dynamo.reset()
    assert torch.allclose(torch.compile(call, backend="eager")(q), call(q))


def test_the_library_of_a_compiled_program_gives_what_eager_code_does() -> None:
    at, frequencies = torch.tensor([0, 7, 2_001]), torch.tensor([1.0, 0.1])
    found = cos_sin_of_learned([with_operator(at)], [frequencies], torch.float32)
    expected = cos_sin_of_learned([checked(at)], [frequencies], torch.float32)
    assert [each.dtype for each in found] == [torch.float32, torch.float32]
    assert all(map(torch.equal, found, expected))
