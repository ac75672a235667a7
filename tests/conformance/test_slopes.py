"""The check of gradients sees one number among hundreds whose gradient is off, and passes right ones."""

from typing import Any

import pytest
import torch

from posenc.testing.checks.gradients import _gradcheck
from posenc.testing.named_check import CheckFailed


class OffBy(torch.autograd.Function):
    """x cubed; the gradient of number 77 is multiplied by a factor."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x**3

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        slope = 3 * ctx.saved_tensors[0] ** 2 * gradients[0]
        return torch.where(torch.arange(slope.numel()) == 77, ctx.factor * slope, slope), None


@pytest.mark.parametrize(("factor", "seen"), [(1.0, False), (0.99, True), (0.0, True)])
def test_one_number_among_two_hundred(factor: float, seen: bool) -> None:
    x = torch.linspace(0.5, 2.0, 200, dtype=torch.float64).requires_grad_()
    if not seen:
        _gradcheck("x", lambda x: OffBy.apply(x, factor), (x,))
        return
    with pytest.raises(CheckFailed, match=r"^gradient of x along a step against the slope that differences give: "):
        _gradcheck("x", lambda x: OffBy.apply(x, factor), (x,))


def test_a_result_that_records_no_gradient_must_not_change() -> None:
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    _gradcheck("x", lambda x: torch.ones(2, dtype=torch.float64), (x,))
    with pytest.raises(CheckFailed, match=r"^gradient of x along a step"):
        _gradcheck("x", lambda x: x.detach() * 2, (x,))
    with pytest.raises(CheckFailed, match=r"^gradient of params: expected numbers to learn, got none"):
        _gradcheck("params", lambda: x, ())
