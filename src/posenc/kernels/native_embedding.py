"""Rows of a weight by token ids, times a scale, plus rows of positions, by the compiled kernel: one pass, rounded once."""

from __future__ import annotations

from typing import Any

import torch

from posenc.kernels import native


def refusal(ids: Any, weight: Any, table: Any) -> str | None:
    """Why the kernel cannot take these tensors; None where it can."""
    if native.MISSING is not None:
        return native.MISSING
    return native.refused(ids, weight, table) if table.dtype == torch.float32 else "the table is not float32"


def embedded(ids: Any, weight: Any, table: Any, scale: float) -> Any:
    """weight[ids]·scale + table: ids (batch, n), weight (vocabulary, width), table (batch or 1, n, width); with gradients."""
    return torch.ops.posenc.embedded(ids, weight, table, scale)


def embedded_at(level: str, ids: Any, weight: Any, table: Any, scale: float) -> Any:
    """`embedded` at a level that is named, for tests."""
    return torch.ops.posenc.embedded_at(ids, weight, table, scale, level)


def _like(ids: Any, weight: Any, table: Any, scale: float, *_: Any) -> Any:
    return weight.new_empty((*ids.shape, weight.shape[1]))


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ids, weight, table, ctx.scale = inputs
    ctx.vocabulary, ctx.dtype, ctx.shared = weight.shape[0], weight.dtype, table.shape[0] == 1
    ctx.save_for_backward(ids)


def _backward(ctx: Any, gradient: Any) -> tuple[Any, ...]:
    """Of a row of the weight, the sum over its tokens; of a row of positions, over those who share it; formed in float32."""
    (ids,) = ctx.saved_tensors
    wide, of_weight, of_table = gradient.float(), None, None
    if ctx.needs_input_grad[1]:
        of_weight = wide.new_zeros((ctx.vocabulary, wide.shape[-1]))
        of_weight = of_weight.index_add(0, ids.flatten(), wide.flatten(0, 1) * ctx.scale).to(ctx.dtype)
    if ctx.needs_input_grad[2]:
        of_table = wide.sum(0, keepdim=True) if ctx.shared else wide
    return None, of_weight, of_table, None


def _told() -> None:
    """PyTorch's tracers and autograd told of the operators."""
    if native.MISSING is not None:
        return
    for name in ("embedded", "embedded_at"):
        native.LIBRARY.impl(name, _like, "Meta")
    torch.library.register_autograd("posenc::embedded", _backward, setup_context=_remember)


_told()
