"""Attention with a learned bias of the distance in training: the gradient is one number a distance too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from posenc.core import arrays
from posenc.core.checked_attention import repeated
from posenc.torch.attention_paths.strided_bias import PIECES, SMALLEST, StridedBias, strided_attention
from posenc.torch.attention_paths.tiles import softmax_

#: Numbers in the logits of a piece of the backward pass, 8 MiB in float32; four such tensors live at a time.
NUMBERS = 1 << 21


def attend_with_gradient(q: Any, k: Any, v: Any, bias: StridedBias, scale: float) -> Any:
    """`strided_attention`, whose backward pass makes no matrix of the gradient of the bias.

    It forms the weights again, a piece of the queries at a time, and adds the gradients of the logits along their
    diagonals.
    """
    return _StridedAttention.apply(q, k, v, bias.numbers, bias, scale)


class _StridedAttention(torch.autograd.Function):  # type: ignore[misc]
    """q, k, v and the numbers of a bias to the output; queries are as many as keys, or fewer."""

    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, v: Any, numbers: Any, bias: StridedBias, scale: float) -> Any:
        output = strided_attention(q, k, v, replace(bias, numbers=numbers), scale=scale)
        ctx.save_for_backward(q, k, v, numbers, output)
        ctx.bias, ctx.scale = bias, scale
        return output

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, grad: Any) -> Any:
        q, k, v, numbers, output = ctx.saved_tensors
        dtype, heads = arrays.library(q).wide_dtype(q.dtype), q.shape[1]
        # Queries stand in reverse order, as in the forward pass.
        last_q, last_grad = q.flip(-2).to(dtype) * ctx.scale, grad.flip(-2).to(dtype)
        shares = (last_grad * output.flip(-2)).sum(-1, keepdim=True)
        own_k, own_v = repeated(k, heads).to(dtype), repeated(v, heads).to(dtype)
        mask = replace(ctx.bias, numbers=numbers).last_query_first(dtype)
        of_q, of_k, of_v = torch.empty_like(last_q), torch.zeros_like(own_k), torch.zeros_like(own_v)
        of_numbers = torch.zeros((q.shape[0], *numbers.shape[1:]), dtype=dtype, device=q.device)
        for rows, seen in _pieces(ctx.bias, q.shape[0] * heads):
            near_k, near_v, piece = own_k[..., seen, :], own_v[..., seen, :], last_grad[..., rows, :]
            weights = softmax_(last_q[..., rows, :] @ near_k.mT + mask[..., rows, seen])
            of_v[..., seen, :] += weights.mT @ piece
            of_logits = (piece @ near_v.mT).sub_(shares[..., rows, :]).mul_(weights)
            of_q[..., rows, :] = of_logits @ near_k
            of_k[..., seen, :] += of_logits.mT @ last_q[..., rows, :]
            sums = _along_diagonals(of_logits)
            of_numbers[..., rows.start : rows.start + sums.shape[-1]] += sums
        of_numbers = of_numbers if numbers.shape[0] == q.shape[0] else of_numbers.sum(0, keepdim=True)
        of_k, of_v = _of_groups(of_k, k), _of_groups(of_v, v)
        return (of_q * ctx.scale).flip(-2).to(q.dtype), of_k, of_v, of_numbers.to(numbers.dtype), None, None


def _pieces(bias: StridedBias, rows: int) -> Iterator[tuple[slice, slice]]:
    """Queries in reverse order, a few at a time, and the keys that they may see."""
    causal = bias.causal and bias.ahead is not None
    size = max(1, min(max(SMALLEST, -(-bias.queries // PIECES)), NUMBERS // (rows * bias.keys)))
    for start in range(0, bias.queries, size):
        seen = max(1, bias.keys + (bias.ahead or 0) - start) if causal else bias.keys
        yield slice(start, min(start + size, bias.queries)), slice(0, min(seen, bias.keys))


def _along_diagonals(x: Any) -> Any:
    """Sums of x[..., i, j] for each i + j, (..., n, m) to (..., n + m - 1): each row is written one place later."""
    *batch, queries, keys = x.shape
    width = queries + keys - 1
    spread = x.new_zeros((*batch, queries, width))
    *outer, row, _ = spread.stride()
    spread.as_strided(x.shape, (*outer, row + 1, 1)).copy_(x)
    return spread.sum(-2)


def _of_groups(gradient: Any, x: Any) -> Any:
    """The gradient of keys or values that groups of queries share."""
    batch, heads, tokens, width = gradient.shape
    grouped = gradient.reshape(batch, x.shape[1], heads // x.shape[1], tokens, width)
    return grouped.sum(2).to(x.dtype)
