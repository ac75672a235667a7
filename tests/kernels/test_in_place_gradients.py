"""Rotated in place under autograd: gradients as out of place, errors where autograd cannot follow, and no
gradient overwritten that may belong to somebody else."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from posenc import Partial, RoPE
from posenc.kernels import native as kernel
from posenc.torch import angles, rotate, rotate_

IMPLS = (
    pytest.param("native", marks=pytest.mark.skipif(kernel.MISSING is not None, reason=str(kernel.MISSING))),
    "torch",
    "reference",
)
RECORD = Partial(RoPE(dim=12, pairing="halves"), dim=18, start=3)
TURN = RECORD.rotation(torch.arange(5))


def leaves(layout: str = "bhtd") -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = ((2, heads, 5, 18) if layout == "bhtd" else (2, 5, heads, 18) for heads in (4, 2))
    q, k = (torch.randn(shape, generator=generator).requires_grad_() for shape in shapes)
    return q, k


def given(*tensors: torch.Tensor) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(x.shape, generator=generator) for x in tensors]


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
def test_gradients_of_results_rotated_in_place(layout: Any, impl: Any) -> None:
    """Those of the reference out of place, to the bit; also twice, and for one of both alone."""
    for by in (TURN, angles(RECORD, torch.arange(5))):
        found, wanted = [], []
        for gradients, rotated in ((found, rotate_), (wanted, rotate)):
            q, k = leaves(layout)
            first, second = 2 * q, k.sin()
            outcome = rotated(first, second, by, layout=layout, impl=impl if rotated is rotate_ else "reference")
            if rotated is rotate_:
                assert outcome[0] is first
                assert outcome[1] is second
            loss = sum((x * x * x).sum() for x in outcome)
            once = torch.autograd.grad(loss, (q, k), create_graph=True)
            gradients += [*outcome, *once, *torch.autograd.grad(sum(g.square().sum() for g in once), (q, k))]
        # The reference's own sums of products are in another order: a few roundings of the largest.
        for one, other in zip(found, wanted, strict=True):
            assert (one - other).abs().max() <= 16 * 2.0**-24 * other.abs().max()
    q, k = leaves(layout)
    still = k.detach().clone()
    rotate_(q * 1.0, still, TURN, layout=layout, impl=impl)[0].sum().backward()
    assert q.grad is not None
    assert not still.requires_grad


@pytest.mark.parametrize("impl", IMPLS)
def test_parts_of_one_projection(impl: Any) -> None:
    results = []
    for rotated in (rotate_, rotate):
        weight = torch.randn(2, 5, 8, 18, generator=torch.Generator().manual_seed(3)).requires_grad_()
        fused = 1.0 * weight
        q, k, v = fused[:, :, :4], fused[:, :, 4:6], fused[:, :, 6:]
        q, k = rotated(q, k, TURN, layout="bthd", impl=impl)
        loss = (q.square().sum() + k.pow(3).sum()) * v.sum()
        loss.backward()
        results.append(weight.grad)
    assert (results[0] - results[1]).abs().max() <= 16 * 2.0**-24 * results[1].abs().max()


@pytest.mark.parametrize("impl", IMPLS)
def test_no_gradient_is_overwritten(impl: Any) -> None:
    """One that others hold: the other term of a sum, who gave it, hooks, what is retained, what is expanded."""
    q, k = leaves()
    z = torch.zeros_like(q).requires_grad_()
    upstream = given(q)[0]
    before = upstream.clone()
    y, _ = rotate_(q * 1.0, k.detach().clone(), TURN, layout="bhtd", impl=impl)
    y.retain_grad()
    kept: list[torch.Tensor] = []
    y.register_hook(kept.append)
    total = y + z
    total.retain_grad()
    total.backward(upstream)
    for one in (upstream, z.grad, y.grad, total.grad, kept[0]):
        assert torch.equal(one, before)
    wanted = rotate(before, k.detach(), Rotated, layout="bhtd", impl="reference")[0]
    assert torch.allclose(q.grad, wanted, atol=1e-6)
    for order in (0, 1):  # whichever branch comes first
        q, _ = leaves()
        z = torch.zeros_like(q).requires_grad_()
        y, _ = rotate_(q * 1.0, k.detach().clone(), TURN, layout="bhtd", impl=impl)
        ((y + z) if order else (z + y)).mul(before).sum().backward()
        assert torch.equal(z.grad, before)
    q, _ = leaves()
    y, _ = rotate_(q * 1.0, k.detach().clone(), TURN, layout="bhtd", impl=impl)
    of_y, of_q = torch.autograd.grad(y, (y, q), upstream)
    assert torch.equal(of_y, before)
    assert torch.equal(upstream, before)
    assert not torch.equal(of_q, before)
    q, _ = leaves()
    rotate_(q * 1.0, k.detach().clone(), TURN, layout="bhtd", impl=impl)[0].sum().backward()
    wanted = rotate(torch.ones_like(before), k.detach(), Rotated, layout="bhtd", impl="reference")[0]
    assert torch.allclose(q.grad, wanted, atol=1e-6)


Rotated = TURN.inverse()


@pytest.mark.parametrize("impl", IMPLS)
def test_what_autograd_has_kept_is_an_error(impl: Any) -> None:
    q, k = leaves()
    first = q * 1.0
    loss = (first * first).sum()
    rotate_(first, k * 1.0, TURN, layout="bhtd", impl=impl)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    if impl != "reference":
        table = RECORD.rotation(torch.arange(5))
        y, _ = rotate_(q * 1.0, k * 1.0, table, layout="bhtd", impl=impl)
        table.cos.zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


@pytest.mark.parametrize("impl", [*IMPLS, "auto"])
def test_what_autograd_lets_nobody_write_to(impl: Any) -> None:
    """Refused before anything is written."""
    q, k = leaves()
    plain, fused = k.detach().clone(), torch.randn(2, 8, 5, 18).requires_grad_() * 1.0
    pieces = fused.split([4, 2, 2], 1)
    with torch.no_grad():
        unseen = fused[:, :4]
    for first in (q, q[:, :], pieces[0], unseen.requires_grad_()):
        before = first.detach().clone()
        with pytest.raises(ValueError, match=r"^q must"):
            rotate_(first, plain, TURN, layout="bhtd", impl=impl)
        assert torch.equal(first, before)
    with pytest.raises(ValueError, match=r"^k must"):
        rotate_(q.detach().clone(), pieces[1], TURN, layout="bhtd", impl=impl)
    with torch.no_grad():
        assert rotate_(q, plain, TURN, layout="bhtd", impl=impl)[0] is q


def test_under_a_tracer_none_is_recorded_in_place() -> None:
    q, k = leaves()

    def loss(q: Any) -> Any:
        return rotate_(q * 1.0, k.detach().clone(), TURN, layout="bhtd")[0].sum()

    with pytest.raises(ValueError, match=r"^q must not require a gradient"):
        torch.func.grad(loss)(q.detach())
