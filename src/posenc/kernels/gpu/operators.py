"""The operators that PyTorch's tracers and autograd know."""

from __future__ import annotations

from typing import Any

import torch

from posenc.kernels.gpu.launch import launch
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
) -> tuple[torch.Tensor, torch.Tensor]:
    turned = torch.empty_like(q), torch.empty_like(k)
    waves = Waves(cosine, sine, places, words, first, factor)
    launch(q, k, *turned, waves, Channels(start, blocks, adjacent), inverse)
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
) -> None:
    launch(q, k, q, k, Waves(cosine, sine, places, words, first, factor), Channels(start, blocks, adjacent), inverse)


def remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    *_, ctx.first, ctx.factor, ctx.start, ctx.blocks, ctx.adjacent, ctx.inverse = inputs
    ctx.save_for_backward(*inputs[2:6])


def backward(ctx: Any, of_q: Any, of_k: Any) -> tuple[Any, ...]:
    """The transpose of a turn is the turn the other way, its factor kept."""
    back = torch.ops.posenc.turn_pair_triton(
        readable(of_q), readable(of_k), *ctx.saved_tensors, ctx.first, ctx.factor,
        ctx.start, ctx.blocks, ctx.adjacent, not ctx.inverse,
    )  # fmt: skip
    return *back, *[None] * 10


def readable(gradient: Any) -> Any:
    """A gradient whose channels lie side by side: that of a sum has no strides at all."""
    return gradient if gradient.stride(-1) == 1 and 0 not in gradient.stride() else gradient.contiguous()


turn_pair.register_autograd(backward, setup_context=remember)
