"""RMSNorm of queries and keys, then rotation: in one pass where a kernel can."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from posenc.core import validation
from posenc.core.rotation import Layout, Rotation
from posenc.torch.rotary_paths.aliasing import mark_written, require_no_grad
from posenc.torch.rotary_paths.angles import Angles
from posenc.torch.rotary_paths.apply_rotation import kernel_for
from posenc.torch.rotary_paths.argument_checks import check_rotation, heads_first, shape_of_rotation, writable_pair
from posenc.torch.rotary_paths.rotation_kernels import KERNELS, Impl, RotationKernel, as_rotation
from posenc.torch.tensor_arguments import plain_tensor


def rotate_normed(
    q: Tensor,
    k: Tensor,
    rotation: Rotation | Angles,
    *,
    q_weight: Tensor,
    k_weight: Tensor,
    epsilon: float,
    plus_one: bool = False,
    layout: Layout,
    impl: Impl = "auto",
) -> tuple[Tensor, Tensor]:
    """Rotate queries and keys after x / √(mean x² + ε) · w over each whole head, in one pass where a kernel can.

    w is the weight in Qwen3, and 1 + weight in Gemma 3. All is formed in float32 at least and rounded once, where
    released models round after the norm as well. Gradients reach q, k and the weights.

    Args:
        q: As for `rotate`.
        k: As for `rotate`.
        rotation: As for `rotate`.
        q_weight: Weight of the queries' norm, (dim,).
        k_weight: Weight of the keys' norm, (dim,).
        epsilon: ε, from 0 to 1.
        plus_one: Whether w is 1 + weight.
        layout: As for `rotate`.
        impl: "triton" rotates in the pass that norms; "reference" is plain PyTorch; "auto" is the first where it can.

    Returns:
        Normed and rotated q and k, in their own dtype and layout.

    Raises:
        TypeError: As for `rotate`; or a weight is no dense tensor.
        ValueError: As for `rotate`; or a weight has another shape or device, or `impl` names a kernel without a norm.

    Example:
        >>> import torch, posenc
        >>> q, k, weight = torch.ones(1, 4, 3, 8), torch.ones(1, 2, 3, 8), torch.ones(8)
        >>> rotation = posenc.RoPE(dim=8).rotation(torch.arange(3))
        >>> q, k = rotate_normed(2 * q, k, rotation, q_weight=weight, k_weight=weight, epsilon=0.0, layout="bhtd")
        >>> torch.allclose(q[0, 0], k[0, 0]), round(float(q[0, 0, 2].norm() ** 2), 4)
        (True, 8.0)
    """
    norm = _checked(rotation, q_weight, k_weight, epsilon, plus_one)
    kernel = _kernel(q, k, rotation, layout, impl)
    if kernel is None:
        rotation = as_rotation(rotation, q)
        return _normed(q, q_weight, rotation, *norm, layout), _normed(k, k_weight, rotation, *norm, layout)
    heads = heads_first(q, layout), heads_first(k, layout)
    first, second = kernel.rotate(rotation, *heads, norm=(q_weight, k_weight, *norm))
    return heads_first(first, layout), heads_first(second, layout)


def rotate_normed_(
    q: Tensor,
    k: Tensor,
    rotation: Rotation | Angles,
    *,
    q_weight: Tensor,
    k_weight: Tensor,
    epsilon: float,
    plus_one: bool = False,
    layout: Layout,
    impl: Impl = "auto",
) -> tuple[Tensor, Tensor]:
    """Norm and rotate queries and keys in place, as `rotate_normed` does.

    Args:
        q: As for `rotate_normed`.
        k: As for `rotate_normed`.
        rotation: As for `rotate_normed`.
        q_weight: As for `rotate_normed`.
        k_weight: As for `rotate_normed`.
        epsilon: As for `rotate_normed`.
        plus_one: As for `rotate_normed`.
        layout: As for `rotate_normed`.
        impl: As for `rotate_normed`.

    Returns:
        q and k themselves, normed and rotated.

    Raises:
        TypeError: As for `rotate_normed`.
        ValueError: As for `rotate_normed`; or a tensor or weight requires a gradient, or q or k overlaps itself or the
            other.

    Example:
        >>> import torch, posenc
        >>> q, k, weight = torch.ones(1, 4, 3, 8), torch.ones(1, 2, 3, 8), torch.zeros(8)
        >>> rotation = posenc.RoPE(dim=8).rotation(torch.arange(3))
        >>> norm = {"q_weight": weight, "k_weight": weight, "epsilon": 1e-6, "plus_one": True}
        >>> rotate_normed_(q, k, rotation, **norm, layout="bhtd")[0] is q
        True
    """
    norm = _checked(rotation, q_weight, k_weight, epsilon, plus_one)
    kernel = _kernel(q, k, rotation, layout, impl)
    writable_pair(q, k)
    for name, x in (("q", q), ("k", k), ("q_weight", q_weight), ("k_weight", k_weight)):
        require_no_grad(name, x, "in place", "Use rotate_normed, or torch.no_grad()")
    if kernel is None:
        rotation = as_rotation(rotation, q)
        q.copy_(_normed(q, q_weight, rotation, *norm, layout))
        k.copy_(_normed(k, k_weight, rotation, *norm, layout))
    else:
        heads = heads_first(q, layout), heads_first(k, layout)
        kernel.rotate_in_place(rotation, *heads, norm=(q_weight, k_weight, *norm))
        mark_written(q, k)
    return q, k


def _normed(x: Tensor, weight: Tensor, rotation: Rotation, epsilon: float, plus_one: bool, layout: Layout) -> Tensor:
    """The definition: norm, weight, rotation, in float32 or in x's float64; rounded once."""
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    y, gain = x.to(wide), weight.to(wide)
    y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + epsilon) * (gain + 1.0 if plus_one else gain)
    return rotation(y, layout=layout).to(x.dtype)


def _kernel(q: Tensor, k: Tensor, rotation: Rotation | Angles, layout: Layout, impl: Impl) -> RotationKernel | None:
    """The kernel that norms and rotates in one pass; None for the reference."""
    if isinstance(impl, str) and impl in KERNELS and not KERNELS[impl].takes_norm:
        raise ValueError(
            f"impl must be 'auto', 'reference' or 'triton' here; got {impl!r}, which has no norm. Use 'auto'."
        )
    kernel, _ = kernel_for(q, k, rotation, layout, impl)
    return kernel if kernel is not None and kernel.takes_norm else None


def _checked(rotation: Any, q_weight: Any, k_weight: Any, epsilon: Any, plus_one: Any) -> tuple[float, bool]:
    check_rotation(rotation)
    device = shape_of_rotation(rotation)[-1]
    for name, weight in (("q_weight", q_weight), ("k_weight", k_weight)):
        plain_tensor(name, weight)
        if not weight.is_floating_point() or tuple(weight.shape) != (rotation.dim,) or weight.device != device:
            raise ValueError(
                f"{name} must be {rotation.dim} floats on {device}, one a channel; got {weight.dtype} of shape "
                f"{tuple(weight.shape)} on {weight.device}. Give the weight of the norm."
            )
    return validation.real("epsilon", epsilon, 0.0, 1.0), validation.truth("plus_one", plus_one)
