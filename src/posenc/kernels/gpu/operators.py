"""The operators that PyTorch's tracers and autograd know."""

from __future__ import annotations

from typing import Any

import torch

from posenc.kernels.gpu.launch import Norm, launch
from posenc.kernels.gpu.waves import Channels, Waves


@torch.library.triton_op("posenc::turn_pair_triton", mutates_args={})
def turn_pair(
    q: torch.Tensor,
    k: torch.Tensor,
    cosine: torch.Tensor | None,
    sine: torch.Tensor | None,
    places: torch.Tensor | None,
    words: torch.Tensor | None,
    first: int,
    factor: float,
    start: int,
    blocks: int,
    adjacent: bool,
    inverse: bool,
    q_weight: torch.Tensor | None = None,
    k_weight: torch.Tensor | None = None,
    epsilon: float = 0.0,
    plus_one: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    turned = torch.empty_like(q), torch.empty_like(k)
    norm, waves = Norm(q_weight, k_weight, epsilon, plus_one), Waves(cosine, sine, places, words, first, factor)
    launch(q, k, *turned, norm, waves, Channels(start, blocks, adjacent), inverse)
    return turned


@torch.library.triton_op("posenc::turn_pair_triton_", mutates_args={"q", "k"})
def turn_pair_(
    q: torch.Tensor,
    k: torch.Tensor,
    cosine: torch.Tensor | None,
    sine: torch.Tensor | None,
    places: torch.Tensor | None,
    words: torch.Tensor | None,
    first: int,
    factor: float,
    start: int,
    blocks: int,
    adjacent: bool,
    inverse: bool,
    q_weight: torch.Tensor | None = None,
    k_weight: torch.Tensor | None = None,
    epsilon: float = 0.0,
    plus_one: bool = False,
) -> None:
    norm, waves = Norm(q_weight, k_weight, epsilon, plus_one), Waves(cosine, sine, places, words, first, factor)
    launch(q, k, q, k, norm, waves, Channels(start, blocks, adjacent), inverse)


def remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    q, k, *waves = inputs[:6]
    *_, q_weight, k_weight, ctx.epsilon, ctx.plus_one = inputs
    ctx.first, ctx.factor, ctx.start, ctx.blocks, ctx.adjacent, ctx.inverse = inputs[6:12]
    before = (None,) * 4 if q_weight is None else (q, k, q_weight, k_weight)  # a turn alone needs none of its vectors
    ctx.save_for_backward(*waves, *before)


def backward(ctx: Any, of_q: Any, of_k: Any) -> tuple[Any, ...]:
    """The transpose of a turn is the turn the other way, its factor kept; that of the norm is left to PyTorch."""
    *waves, q, k, q_weight, k_weight = ctx.saved_tensors
    of_q, of_k = (readable(part if q is None else part.float()) for part in (of_q, of_k))
    of_q, of_k = torch.ops.posenc.turn_pair_triton(
        of_q, of_k, *waves, ctx.first, ctx.factor, ctx.start, ctx.blocks, ctx.adjacent, not ctx.inverse
    )
    if q is None:
        return of_q, of_k, *[None] * 14
    of_q, of_q_weight = through_norm(q, q_weight, of_q, ctx.epsilon, ctx.plus_one)
    of_k, of_k_weight = through_norm(k, k_weight, of_k, ctx.epsilon, ctx.plus_one)
    return of_q, of_k, *[None] * 10, of_q_weight, of_k_weight, None, None


def readable(gradient: Any) -> Any:
    """A gradient whose channels lie side by side: that of a sum has no strides at all."""
    return gradient if gradient.stride(-1) == 1 and 0 not in gradient.stride() else gradient.contiguous()


def through_norm(x: Any, weight: Any, gradient: Any, epsilon: float, plus_one: bool) -> tuple[Any, Any]:
    """From the gradient of n·w, n = x·r, r = 1/√(mean x² + ε), to those of x, r·(g - n·mean(g·n)) with g = w·gradient, and of w."""
    y = x.float()
    scale = torch.rsqrt(y.square().mean(-1, keepdim=True) + epsilon)
    y = y * scale
    of_y = gradient * (weight.float() + 1.0 if plus_one else weight.float())
    of_x = scale * (of_y - y * (of_y * y).mean(-1, keepdim=True))
    return of_x.to(x.dtype), (gradient * y).sum((0, 1, 2)).to(weight.dtype)


turn_pair.register_autograd(backward, setup_context=remember)
