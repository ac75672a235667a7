"""Rows of a learned table are picked before they are cast: no operation reads or makes as much as the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from posenc import AxialLearned, FactorisedLearned, GridLearned, Learned
from posenc.torch import module

ROWS, DIM = 1000, 4
RECORDS = {
    "error": (Learned(dim=DIM, length=ROWS), [3, 999, 3]),
    "clamp": (Learned(dim=DIM, length=ROWS, outside="clamp"), [3, 2000, -1]),
    "wrap": (Learned(dim=DIM, length=ROWS, outside="wrap"), [3, 2000, -1]),
    "interpolate": (Learned(dim=DIM, length=ROWS, outside="interpolate", extent=90), [3, 50, 3]),
    "grid": (GridLearned(dim=DIM, sizes=(25, 40)), [[3, 4], [24, 39], [3, 4]]),
    "axial": (AxialLearned(shape=(1000, 900), dims=(2, 2)), [3, 899_999, 3]),
    "factorised": (FactorisedLearned(sizes=(1000, 900), dims=(DIM, DIM)), [[3, 4], [999, 899], [3, 4]]),
}
KINDS = (torch.bfloat16, torch.float16)


class LargeResults(TorchDispatchMode):
    """Names of operations that make as many numbers as a table holds."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.numel() >= 900 and "detach" not in str(func):
            self.seen.append(str(func))
        return result


@pytest.mark.parametrize("name", RECORDS)
def test_nothing_as_large_as_the_table_is_made(name: str) -> None:
    encoding, places = RECORDS[name]
    positions = torch.tensor(places)
    for kind in KINDS:
        layer = module(encoding, seed=0).to(kind)
        for recorded in (False, True):
            with torch.set_grad_enabled(recorded), LargeResults() as large:
                layer(torch.ones(3, DIM, dtype=kind), positions)
            assert large.seen == [], (kind, recorded)


@pytest.mark.parametrize("name", RECORDS)
def test_values_and_gradients_are_those_of_a_table_that_is_cast_first(name: str) -> None:
    """To the bit: also where a position occurs often, whose gradients 16 bits cannot count."""
    encoding, places = RECORDS[name]
    batch = torch.tensor(places).expand(300, *torch.tensor(places).shape).contiguous()
    for kind in KINDS:
        layer = module(encoding, seed=0).to(kind)
        wide = {key: value.detach().float().requires_grad_() for key, value in layer.params.items()}
        x = torch.randn(300, 3, DIM, generator=torch.Generator().manual_seed(0)).to(kind)
        total, expected = layer(x, batch), encoding.attach(x, batch, wide)
        assert torch.equal(total, expected)
        total.backward(torch.ones_like(total))
        expected.backward(torch.ones_like(expected))
        for key, value in wide.items():
            assert torch.equal(layer.get_parameter(key).grad, value.grad.to(kind)), key
        with torch.no_grad():
            one = torch.tensor(places)
            assert torch.equal(layer(x, one), encoding.attach(x, one, wide))


@pytest.mark.parametrize("kind", [torch.float32, *KINDS], ids=lambda kind: str(kind).removeprefix("torch."))
def test_training_looks_up_rows_and_counts_each_gradient(kind: torch.dtype) -> None:
    """One row of positions for a batch, one of them 300 times, whose gradients 16 bits cannot count."""
    encoding, positions = Learned(dim=DIM, length=ROWS), torch.tensor([3, 999, *[5] * 300])
    layer = module(encoding, seed=0).to(kind)
    x = torch.randn(2, 302, DIM, generator=torch.Generator().manual_seed(0)).to(kind).requires_grad_()
    table = layer.table.detach().double().requires_grad_()
    total, expected = layer(x, positions), (x.double() + table[positions])
    assert torch.equal(total, expected.to(kind))
    back = torch.ones_like(total)
    found = torch.autograd.grad(total, (layer.table, x), back)
    assert torch.equal(found[0], torch.autograd.grad(expected, table, back.double())[0].to(kind))
    assert torch.equal(found[1], back)
    with pytest.raises(ValueError, match=r"^positions must be from 0 to 999"):
        layer(x, positions + 1)


def test_forward_derivatives_of_rows() -> None:
    encoding, table = Learned(dim=DIM, length=9), torch.randn(9, DIM).to(torch.bfloat16).requires_grad_()
    tangent, positions = torch.randn(9, DIM).to(torch.bfloat16), torch.tensor([2, 2, 8])
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(table, tangent)
        found = torch.autograd.forward_ad.unpack_dual(encoding.embed(positions, {"table": dual})).tangent
        layer = module(encoding, seed=0)
        layer.table = torch.nn.Parameter(table.detach())
        x = torch.autograd.forward_ad.make_dual(torch.zeros(3, DIM).to(torch.bfloat16), tangent[:3])
        assert torch.equal(torch.autograd.forward_ad.unpack_dual(layer(x, positions)).tangent, tangent[:3])
    assert torch.equal(found, tangent[positions].float())
    _, through = torch.func.jvp(lambda one: encoding.embed(positions, {"table": one}), (table.detach(),), (tangent,))
    assert torch.equal(through, tangent[positions].float())


def test_a_lookup_refuses_what_the_definition_refuses() -> None:
    layer = module(Learned(dim=DIM, length=9), seed=0)
    with torch.no_grad():
        for place in (-1, 9):
            with pytest.raises(ValueError, match=r"^positions must be from 0 to 8"):
                layer(torch.ones(2, DIM), torch.tensor([0, place]))
        with pytest.raises(ValueError, match=r"^x must have shape"):
            layer(torch.ones(3, DIM), torch.tensor([0, 1]))


def test_jax_casts_rows_alone_and_adds_gradients_before_it_rounds() -> None:
    jax = pytest.importorskip("jax")
    encoding, positions = Learned(dim=DIM, length=ROWS), jax.numpy.asarray([[3, 5]] * 300)
    table = jax.numpy.asarray(encoding.init(np.random.default_rng(0))["table"], jax.numpy.bfloat16)

    def rows(table: Any) -> Any:
        return encoding.embed(positions, {"table": table})

    def cast_first(table: Any) -> Any:
        return encoding.embed(positions, {"table": table.astype("float32")})

    jaxpr = str(jax.make_jaxpr(rows)(table))
    assert f"f32[{ROWS},{DIM}]" not in jaxpr
    assert (rows(table) == cast_first(table)).all()
    gradients = [jax.grad(lambda one, of=of: of(one).sum())(table) for of in (rows, cast_first)]
    assert (gradients[0] == gradients[1]).all()
    tangents = [jax.jvp(of, (table,), (table,))[1] for of in (rows, cast_first)]
    assert (tangents[0] == tangents[1]).all()
    assert (jax.vmap(rows)(table[None])[0] == rows(table)).all()
