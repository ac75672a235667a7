"""Attention whose biases depend on the distance alone, one number a distance and head, and its gradient."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from posenc.core import arrays
from posenc.core.checked_attention import repeated
from posenc.torch.attention_paths.arguments import AttentionCall
from posenc.torch.attention_paths.rotated_vectors import rotated_back, rotated_vectors
from posenc.torch.attention_paths.strided_bias import StridedBias, strided, strided_attention
from posenc.torch.attention_paths.tiles import softmax_
from posenc.torch.attention_paths.visible import (
    FEWEST_QUERIES,
    SMALLEST_POWER,
    is_transformed,
    largest_difference,
    unsupported_steps,
    window_sides,
)

#: Numbers in the logits of a piece of the backward pass, 8 MiB in float32; four such tensors live at a time.
NUMBERS = 1 << 21


def attend_with_gradient(q: Any, k: Any, v: Any, bias: StridedBias, scale: float) -> Any:
    """Compute `strided_attention` with a backward pass that forms no whole matrix of the gradient of the bias.

    It forms the weights again, a piece of the queries at a time, and adds the gradients of the logits along their
    diagonals.
    """
    return _StridedAttention.apply(q, k, v, bias.numbers, bias, scale)


class _StridedAttention(torch.autograd.Function):  # type: ignore[misc]
    """Autograd function of `strided_attention`, for q, k, v and bias numbers; takes no more queries than keys."""

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
        most = max(1, NUMBERS // max(1, q.shape[0] * heads * ctx.bias.keys))
        for rows, seen in replace(ctx.bias, numbers=numbers).pieces(most):
            near_k, near_v, piece = own_k[..., seen, :], own_v[..., seen, :], last_grad[..., rows, :]
            weights = softmax_(last_q[..., rows, :] @ near_k.mT + mask[..., rows, seen])
            of_v[..., seen, :] += weights.mT @ piece
            of_logits = (piece @ near_v.mT).sub_(shares[..., rows, :]).mul_(weights)
            of_q[..., rows, :] = of_logits @ near_k
            of_k[..., seen, :] += of_logits.mT @ last_q[..., rows, :]
            sums = _along_diagonals(of_logits)
            first = rows.start + seen.start
            of_numbers[..., first : first + sums.shape[-1]] += sums
        of_numbers = of_numbers if numbers.shape[0] == q.shape[0] else of_numbers.sum(0, keepdim=True)
        of_k, of_v = _of_groups(of_k, k), _of_groups(of_v, v)
        return (of_q * ctx.scale).flip(-2).to(q.dtype), of_k, of_v, of_numbers.to(numbers.dtype), None, None


def _along_diagonals(x: Any) -> Any:
    """Sums of x[..., i, j] for each i + j, (..., n, m) to (..., n + m - 1): each row is written one place later."""
    *batch, queries, keys = x.shape
    width = queries + keys - 1
    spread = x.new_zeros((*batch, queries, width))
    *outer, row, _ = spread.stride()
    spread.as_strided(x.shape, (*outer, row + 1, 1)).copy_(x)
    return spread.sum(-2)


def _of_groups(gradient: Any, x: Any) -> Any:
    """Sum the gradient of keys or values over the query heads that share a key head."""
    batch, heads, tokens, width = gradient.shape
    grouped = gradient.reshape(batch, x.shape[1], heads // x.shape[1], tokens, width)
    return grouped.sum(2).to(x.dtype)


def unsupported_reason(call: AttentionCall) -> str | None:
    """Why the biases are not one number a distance; None where they are."""
    for bias in call.biases:
        if bias.encoding.axes != 1 or "relative" not in bias.encoding.claims:
            return f"{type(bias.encoding).__name__} does not depend on the distance alone"
    if call.scores:
        return f"{type(call.scores[0].encoding).__name__} reads content"
    if call.mask is not None:
        return "a mask hides pairs that no distance tells"
    if call.documents is not None:
        return "documents share a row, so one distance means several pairs"
    if call.dropout:
        return "dropout needs the weights of whole tiles"
    if not call.queries or not call.keys:
        return "there are no pairs"
    if not call.biases:
        here = arrays.library(call.q).concrete(call.q)
        return None if here else "there is no bias, and tiles do as well where numbers cannot be looked at"
    if trains(call) and not arrays.library(call.q).concrete(call.q):
        return "the gradient of what a bias learns is its own on a processor alone"
    if trains(call) and call.queries > call.keys:
        return "a query that sees no key has no gradient here"
    return _unsupported_positions(call)


def trains(call: AttentionCall) -> bool:
    """Whether autograd records what a bias learns."""
    return call.recorded and any(bias.params for bias in call.biases)


def _unsupported_positions(call: AttentionCall) -> str | None:
    """Why distances of positions are not those of indices, counted from the ends; None where they are."""
    reason = unsupported_steps(call)
    if reason is not None:
        return reason
    bounded = call.causal or call.window != (None, None)
    if bounded and not (call.query_positions[..., -1].double() == call.key_positions[..., -1].double()).all():
        return "the last query is not at the position of the last key"
    return None


def attend(call: AttentionCall) -> Any:
    """The output, (batch, heads, n, width)."""
    q, k, v = rotated_vectors(call)
    dtype = arrays.library(q).wide_dtype(q.dtype)
    views = [
        strided(bias.encoding, call.query_positions, call.key_positions, bias.params, causal=call.causal, dtype=dtype)
        for bias in call.biases
    ]
    if not views:  # what hides keys goes by index, whatever the positions
        numbers = q.new_zeros((1, q.shape[1], call.queries + call.keys - 1), dtype=dtype)
        views = [StridedBias(numbers, call.queries, call.keys, call.causal, 0)]
    numbers = views[0].numbers
    for view in views[1:]:
        numbers = numbers + view.numbers
    bias = replace(views[0], numbers=_without_vanishing_weights(call, q, k, _within(call, numbers)))
    attended = attend_with_gradient if trains(call) else strided_attention
    return rotated_back(call, attended(q, k, v, bias, scale=call.scale), call.query_positions)


def _without_vanishing_weights(call: AttentionCall, q: Any, k: Any, numbers: Any) -> Any:
    """Set numbers to -inf at distances whose weight must vanish next to the own key's, whatever the vectors are.

    A processor takes several times as long for weights that are almost zero in float32: subnormal numbers, from e^-87
    on. |scale·q·k| is at most the product of the greatest lengths, by which a bias is compared.
    """
    own = numbers[..., call.keys - 1 : call.keys]
    few = call.queries < FEWEST_QUERIES or is_transformed()  # whose numbers cannot be looked at
    if few or call.queries > call.keys or q.dtype == torch.float64 or not arrays.library(q).concrete(q):
        return numbers
    lower = numbers[..., : call.keys]
    if not ((lower < own - SMALLEST_POWER) & ~torch.isneginf(lower)).any():  # hidden keys need no comparison
        return numbers
    return numbers.masked_fill(numbers < own - SMALLEST_POWER - largest_difference(call, q, k), float("-inf"))


def _within(call: AttentionCall, numbers: Any) -> Any:
    """Set numbers to -inf at the distances that the window or a causal mask hides."""
    if window_sides(call) == (None, None):
        return numbers
    count = numbers.shape[-1]
    before, after = (count if side is None else side for side in window_sides(call))
    ahead = torch.arange(count, device=numbers.device) - (call.keys - 1)
    return numbers.masked_fill((ahead < -before) | (ahead > after), float("-inf"))
