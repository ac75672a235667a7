"""Attention whose scores share one vector from some distance on: a band of near keys, and fused attention for the rest.

What such a score adds to the logits of far keys is one number a query, and what it adds to the output one vector, so
PyTorch's fused kernel attends to them without either; its log-sum-exp joins them with the near keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

#: Queries that meet their near keys in one product, at least: fewer, and the products are too small to be fast.
SMALLEST = 32
#: Numbers in the products of a piece of the band, 2 MiB in float32.
NUMBERS = 1 << 19


@dataclass(frozen=True, eq=False)
class NearKeys:
    """Keys at most `before` tokens behind a query and `after` ahead of it.

    Args:
        before: Tokens behind a query.
        after: Tokens ahead of it.
        logits: What is added to the logits by distance, (batch, heads, n, before + 1 + after).
        values: What the output gains for a weight at each distance, (before + 1 + after, width).
    """

    before: int
    after: int
    logits: Any
    values: Any

    def attend(self, q: Any, k: Any, v: Any, scale: float) -> tuple[Any, Any]:
        """Attend to these keys alone, and return the output and the log-sum-exp of the logits."""
        batch, heads, tokens, _ = q.shape
        place = torch.arange(tokens)[:, None] + torch.arange(-self.before, self.after + 1)
        logits = self.logits.masked_fill((place < 0) | (place >= tokens), float("-inf"))
        size = max(SMALLEST, self.before + self.after)
        piece = size * max(1, NUMBERS // (batch * heads * size * (size + self.before + self.after)))
        recorded = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v, logits, self.values))
        whole = None if recorded else q.new_empty((*q.shape[:3], v.shape[-1] + 1), dtype=logits.dtype)
        found = []
        for start in range(0, tokens, piece):
            stop = min(start + piece, tokens)
            missing = -(stop - start) % size  # of the last block
            ends = start - self.before, stop + missing + self.after
            around = (0, 0, max(0, -ends[0]), max(0, ends[1] - tokens))
            near_k, near_v = (pad(x[:, :, max(0, ends[0]) : ends[1]], around).to(logits.dtype) for x in (k, v))
            asked, added = (pad(x[:, :, start:stop], (0, 0, 0, missing)) for x in (q, logits))
            part = self._of_blocks(asked.to(logits.dtype) * scale, added, near_k, near_v, size)[:, :, : stop - start]
            if whole is None:
                found.append(part)
            else:
                whole[:, :, start:stop] = part
        whole = torch.cat(found, 2) if whole is None else whole
        return whole[..., :-1], whole[..., -1]

    def _of_blocks(self, q: Any, logits: Any, k: Any, v: Any, size: int) -> Any:
        """Attend in blocks of `size` queries to the keys around each block, which begin `before` tokens before it.

        The last channel of the result is the log-sum-exp of the logits.
        """
        width, distances = size + self.before + self.after, logits.shape[-1]
        q, logits = (x.unflatten(2, (-1, size)) for x in (q, logits))
        near_k, near_v = (x.unfold(2, width, size) for x in (k, v))  # (batch, heads, blocks, channels, width)
        products = (q @ near_k).contiguous()
        # Of row i the distances begin in column i.
        band = products.as_strided(logits.shape, (*products.stride()[:-2], width + 1, 1))
        logits = logits + band
        top = logits.detach().amax(-1, keepdim=True)
        powers = (logits - top).exp()
        total = powers.sum(-1, keepdim=True)
        weights = powers / total
        spread = pad(weights, (0, width + 1 - distances)).flatten(-2)[..., : size * width].unflatten(-1, (size, width))
        output = spread @ near_v.mT + weights @ self.values
        return torch.cat([output, total.log() + top], -1).flatten(2, 3)


@dataclass(frozen=True, eq=False)
class FarSide:
    """All keys at least `least` tokens behind a query, or ahead of it.

    Args:
        least: Tokens from a query to the nearest of them.
        ahead: Whether they stand ahead of the query.
        logits: What is added to each of their logits, (batch, heads, n).
        values: What the output gains for their weight, (width,).
    """

    least: int
    ahead: bool
    logits: Any
    values: Any

    @property
    def queries(self) -> slice:
        """Queries that have at least one such key."""
        return slice(None, -self.least) if self.ahead else slice(self.least, None)

    @property
    def keys(self) -> slice:
        """Keys that lie so far from at least one query."""
        return slice(self.least, None) if self.ahead else slice(None, -self.least)

    def in_order(self, x: Any) -> Any:
        """Reverse the tokens for keys ahead, so that a causal mask hides the near ones; its own inverse."""
        return x.flip(2) if self.ahead else x


def attend(q: Any, k: Any, v: Any, near: NearKeys, sides: list[FarSide], scale: float) -> Any:
    """Attention to near and far keys, (batch, heads, n, width).

    Args:
        q: Queries, (batch, heads, n, d), as many as keys.
        k: Keys, (batch, heads, n, d).
        v: Values, (batch, heads, n, d).
        near: The near keys, each query's own among them.
        sides: The far keys.
        scale: Factor of the products.
    """
    output, powers = near.attend(q, k, v, scale)
    tensors = [x for side in sides for x in (side.logits, side.values)]
    return _Joined.apply(q, k, v, output, powers, sides, scale, *tensors)


class _Joined(torch.autograd.Function):  # type: ignore[misc]
    """Softmax of near and far keys, joined by log-sum-exp; backward gives the fused kernel the joint output and sum."""

    @staticmethod
    def forward(
        ctx: Any, q: Any, k: Any, v: Any, near: Any, powers: Any, sides: list[FarSide], scale: float, *tensors: Any
    ) -> Any:
        fused, total = [], powers
        for side in sides:
            output, sums = _fused(q, k, v, side, scale)
            sums = side.logits[:, :, side.queries] + sums
            total = total.clone()
            total[:, :, side.queries] = torch.logaddexp(total[:, :, side.queries], sums)
            fused.append((output, sums))
        recorded = any(ctx.needs_input_grad)
        share = (powers - total).exp()[..., None]
        whole = near * share if recorded else near.mul_(share)  # nobody else reads it
        for side, (output, sums) in zip(sides, fused, strict=True):
            share = (sums - total[:, :, side.queries]).exp()[..., None]
            alone = not recorded and output.dtype == whole.dtype
            whole[:, :, side.queries].addcmul_(output.add_(side.values) if alone else output + side.values, share)
        ctx.save_for_backward(q, k, v, near, powers, whole, total, *tensors, *(x for pair in fused for x in pair))
        ctx.ends, ctx.scale = [(side.least, side.ahead) for side in sides], scale
        return whole.to(q.dtype)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, grad: Any) -> Any:
        q, k, v, near, powers, whole, total, *more = ctx.saved_tensors
        count = len(ctx.ends)
        wide = grad.to(whole.dtype)
        shares = (wide * whole).sum(-1)  # what each logit loses, whatever its weight
        of_q, of_k, of_v = (torch.zeros_like(x) for x in (q, k, v))
        of_tensors = []
        for place, ends in enumerate(ctx.ends):
            side = FarSide(*ends, *more[2 * place : 2 * place + 2])
            output, sums = more[2 * (count + place) : 2 * (count + place) + 2]
            rows, columns = side.queries, side.keys
            weight = (sums - total[:, :, rows]).exp()
            of_values = wide[:, :, rows] * weight[..., None]
            of_logits = torch.zeros_like(total)
            of_logits[:, :, rows] = (of_values * (output + side.values)).sum(-1) - weight * shares[:, :, rows]
            for x, gradient, some in zip(
                (of_q, of_k, of_v),
                _of_fused(grad, q, k, v, whole, total, side, ctx.scale),
                (rows, columns, columns),
                strict=True,
            ):
                x[:, :, some] += gradient
            of_tensors += [of_logits, of_values.sum((0, 1, 2))]
        share = (powers - total).exp()
        of_near = wide * share[..., None]
        of_powers = (of_near * near).sum(-1) - share * shares
        return of_q, of_k, of_v, of_near, of_powers, None, None, *of_tensors


def _fused(q: Any, k: Any, v: Any, side: FarSide, scale: float) -> tuple[Any, Any]:
    """Attend to the far keys of one side, and return output and log-sum-exp for the queries that have some."""
    given = (side.in_order(q[:, :, side.queries]), *(side.in_order(x[:, :, side.keys]) for x in (k, v)))
    output, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*given, 0.0, True, scale=scale)
    return side.in_order(output), side.in_order(sums)


def _of_fused(
    grad: Any, q: Any, k: Any, v: Any, whole: Any, total: Any, side: FarSide, scale: float
) -> tuple[Any, Any, Any]:
    """Gradients of queries, keys and values through the attention to the far keys of one side."""
    rows, columns = side.queries, side.keys
    without = whole[:, :, rows] - side.values  # the kernel knows v alone
    sums = total[:, :, rows] - side.logits[:, :, rows]
    given = (grad[:, :, rows], q[:, :, rows], k[:, :, columns], v[:, :, columns], without.to(q.dtype), sums)
    found = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
        *(side.in_order(x) for x in given), 0.0, True, scale=scale
    )
    of_q, of_k, of_v = (side.in_order(x) for x in found)
    return of_q, of_k, of_v
