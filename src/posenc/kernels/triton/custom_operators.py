"""Triton rotations as operators for PyTorch's tracers, autograd and vmap; declared by schema for faster calls."""

from __future__ import annotations

from typing import Any

import torch

from posenc.kernels.native import (
    empty_pair,
    no_result,
    unmapped_batch,
    with_contiguous_channels,
    with_mapped_axis,
)
from posenc.kernels.triton.cos_sin_kernel import Channels, CosSinSource
from posenc.kernels.triton.kv_cache_kernel import launch_into_cache
from posenc.kernels.triton.launch import Norm, RotationArguments, launch

COS_SIN = "Tensor? cosine, Tensor? sine, Tensor? positions, Tensor? words, SymInt first, float factor"
CHANNELS = "int start, int blocks, bool adjacent"
NORM = "Tensor? q_weight, Tensor? k_weight, float epsilon, bool plus_one"
ROTATION_ARGUMENTS = f"{COS_SIN}, {CHANNELS}, {NORM}"


def rotate_pair(q: Any, k: Any, inverse: bool, *how: Any) -> tuple[Any, Any]:
    """Rotate q and k into new memory."""
    rotated = torch.empty_like(q), torch.empty_like(k)
    launch(q, k, *rotated, inverse, _parts(how))
    return rotated


def rotate_pair_(q: Any, k: Any, inverse: bool, *how: Any) -> None:
    """Rotate q and k in place."""
    launch(q, k, q, k, inverse, _parts(how))


def rotate_into_cache_(q: Any, k: Any, v: Any, to_k: Any, to_v: Any, slots: Any, paged: bool, *how: Any) -> None:
    """Rotate q in place, k into its cache, and copy v into its own."""
    launch_into_cache(q, k, v, to_k, to_v, slots, paged, _parts(how))


def _parts(how: tuple[Any, ...]) -> RotationArguments:
    return RotationArguments(CosSinSource(*how[:6]), Channels(*how[6:9]), Norm(*how[9:]))


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    q, k, ctx.inverse, *how = inputs
    cos_sin, ctx.channels, norm = _parts(tuple(how))
    ctx.first, ctx.factor, ctx.epsilon, ctx.plus_one = cos_sin.first, cos_sin.factor, norm.epsilon, norm.plus_one
    before = (None, None) if norm.q_weight is None else (q, k)  # a rotation alone needs none of its vectors
    ctx.save_for_backward(*before, *cos_sin[:4], *norm[:2])


def _backward(ctx: Any, of_q: Any, of_k: Any) -> tuple[Any, ...]:
    """Rotate the gradient back: the transpose is the inverse rotation with the same factor.

    The gradient of the norm is computed in PyTorch.
    """
    q, k, cosine, sine, positions, words, q_weight, k_weight = ctx.saved_tensors
    of_q, of_k = (with_contiguous_channels(part if q is None else part.float()) for part in (of_q, of_k))
    cos_sin = CosSinSource(cosine, sine, positions, words, ctx.first, ctx.factor)
    of_q, of_k = torch.ops.posenc.rotate_pair_triton(of_q, of_k, not ctx.inverse, *cos_sin, *ctx.channels, *Norm())
    if q is None:
        return of_q, of_k, *[None] * 14
    of_q, of_q_weight = _through_norm(q, q_weight, of_q, ctx.epsilon, ctx.plus_one)
    of_k, of_k_weight = _through_norm(k, k_weight, of_k, ctx.epsilon, ctx.plus_one)
    return of_q, of_k, *[None] * 10, of_q_weight, of_k_weight, None, None


def _through_norm(x: Any, weight: Any, gradient: Any, epsilon: float, plus_one: bool) -> tuple[Any, Any]:
    """Gradients of x and w from that of n·w, where n = x·r and r = 1/√(mean x² + ε).

    That of x is r·(g - n·mean(g·n)) with g = w·gradient.
    """
    y = x.float()
    scale = torch.rsqrt(y.square().mean(-1, keepdim=True) + epsilon)
    y = y * scale
    of_y = gradient * (weight.float() + 1.0 if plus_one else weight.float())
    of_x = scale * (of_y - y * (of_y * y).mean(-1, keepdim=True))
    return of_x.to(x.dtype), (gradient * y).sum((0, 1, 2)).to(weight.dtype)


def _mapped(info: Any, dims: tuple[Any, ...], q: Any, k: Any, inverse: bool, *how: Any) -> tuple[Any, Any]:
    """Fold the axis that vmap maps into the batch; frequencies and weights must not be mapped."""
    if any(dim is not None for dim in (dims[6], *dims[12:14])):
        raise ValueError(
            "words must not be mapped by vmap, nor weights; got a mapped axis. Map queries, keys and positions."
        )
    size, batch = info.batch_size, unmapped_batch(q, dims[0])
    q, k = (with_mapped_axis(x, dim, size).contiguous() for x, dim in ((q, dims[0]), (k, dims[1])))
    tables = [
        None if x is None else with_mapped_axis(x, dim, size, batch).contiguous()
        for x, dim in zip(how[:3], dims[3:6], strict=True)
    ]
    rotated = torch.ops.posenc.rotate_pair_triton(q, k, inverse, *tables, *how[3:])
    return tuple(x.unflatten(0, (size, batch)) for x in rotated), (0, 0)


#: Kept, since what it defines goes with it.
LIBRARY = torch.library.Library("posenc", "FRAGMENT")
for schema, function, fake in (
    (
        f"rotate_pair_triton(Tensor q, Tensor k, bool inverse, {ROTATION_ARGUMENTS}) -> (Tensor, Tensor)",
        rotate_pair,
        empty_pair,
    ),
    (
        f"rotate_pair_triton_(Tensor(a!) q, Tensor(b!) k, bool inverse, {ROTATION_ARGUMENTS}) -> ()",
        rotate_pair_,
        no_result,
    ),
    (
        "rotate_into_cache_triton_(Tensor(a!) q, Tensor k, Tensor v, Tensor(b!) to_k, Tensor(c!) to_v, Tensor slots, "
        f"bool paged, {ROTATION_ARGUMENTS}) -> ()",
        rotate_into_cache_,
        no_result,
    ),
):
    name = LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    for device in ("CUDA", "CPU"):  # that of the interpreter
        LIBRARY.impl(name, function, device)
    torch.library.register_fake(f"posenc::{name}", fake, lib=LIBRARY)
torch.library.register_autograd("posenc::rotate_pair_triton", _backward, setup_context=_remember, lib=LIBRARY)
torch.library.register_vmap("posenc::rotate_pair_triton", _mapped, lib=LIBRARY)
