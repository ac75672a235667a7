"""Rows of a weight by token ids, times a scale, plus rows of positions, in one pass of the compiled kernel."""

from __future__ import annotations

from typing import Any

import torch

from posenc.kernels import native


def unsupported_reason(ids: Any, weight: Any, table: Any) -> str | None:
    """Why the kernel cannot take these tensors; None where it can."""
    if native.MISSING is not None:
        return native.MISSING
    if torch._C._are_functorch_transforms_active():
        return "a transform of functions sees through the reference"
    if table.dtype != torch.float32:
        return "the table is not float32"
    return native.unsupported_tensors(ids, weight, table)


def scaled_embedding(ids: Any, weight: Any, table: Any, scale: float, *, instruction_set: str = "") -> Any:
    """Return weight[ids]·scale + table, with gradients.

    Args:
        ids: (batch, n), int64.
        weight: (vocabulary, width).
        table: (batch or 1, n, width), float32.
        scale: The factor.
        instruction_set: As for `native.rotate`.

    Returns:
        The sum, (batch, n, width), in the dtype of the weight.
    """
    return torch.ops.posenc.scaled_embedding(ids, weight, table, scale, instruction_set)


def add(x: Any, table: Any) -> Any:
    """Return x + table, formed in float32 and rounded once to the dtype of x, with a gradient for x.

    x is (*batch, n, width), table (n, width) or (*batch, n, width), float32. A sum in 16 bits is one pass of the
    kernel, as of an embedding whose token i is i; PyTorch makes three.
    """
    if x.dtype == torch.float32:
        return x + table
    fits = not torch.compiler.is_compiling() and x.is_contiguous() and (table.ndim == 2 or table.shape == x.shape)
    if fits and x.numel() and unsupported_reason(x, x, table) is None:
        return _Add.apply(x, table)
    return (x.float() + table).to(x.dtype)


class _Add(torch.autograd.Function):  # type: ignore[misc]
    """Autograd function of x + table, which passes the gradient of x through unchanged."""

    @staticmethod
    def forward(ctx: Any, x: Any, table: Any) -> Any:
        rows, (length, width) = x.view(-1, x.shape[-1]), x.shape[-2:]
        ids = torch.arange(rows.shape[0], device="cpu").view(-1, length)
        vectors = table.view(-1, length, width)
        return torch.ops.posenc.scaled_embedding(ids, rows, vectors, 1.0).view(x.shape)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, None]:
        return gradient, None


def _fake(ids: Any, weight: Any, *_: Any) -> Any:
    return weight.new_empty((*ids.shape, weight.shape[1]))


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ids, weight, table, ctx.scale, _ = inputs
    ctx.vocabulary, ctx.dtype, ctx.shared = weight.shape[0], weight.dtype, table.shape[0] == 1
    ctx.save_for_backward(ids)


def _backward(ctx: Any, gradient: Any) -> tuple[Any, ...]:
    """Sum gradients, in float32, over the tokens of each weight row, and over the batch for a table that it shares."""
    (ids,) = ctx.saved_tensors
    wide, of_weight, of_table = gradient.float(), None, None
    if ctx.needs_input_grad[1]:
        of_weight = wide.new_zeros((ctx.vocabulary, wide.shape[-1]))
        of_weight = of_weight.index_add(0, ids.flatten(), wide.flatten(0, 1) * ctx.scale).to(ctx.dtype)
    if ctx.needs_input_grad[2]:
        of_table = wide.sum(0, keepdim=True) if ctx.shared else wide
    return None, of_weight, of_table, None, None


native.declare("scaled_embedding", _fake, _backward, _setup_context)
