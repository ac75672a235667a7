"""In-place rotations that autograd records: of non-leaf tensors, the results of other operations.

Backward rotates the gradient into new memory. In place it would need to be nobody else's, and that cannot be known: a
sum hands one gradient to both its terms, and a hook may hold it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

from posenc.core.rotation import Layout, Rotation
from posenc.kernels import native
from posenc.torch.rotary_paths.aliasing import require_no_grad
from posenc.torch.rotary_paths.argument_checks import heads_first
from posenc.torch.rotary_paths.rotation_kernels import RotationKernel


def requires_autograd(name: str, x: Any) -> bool:
    """Whether autograd must record a rotation of x; ValueError where autograd forbids writing to x."""
    if not torch.is_grad_enabled() or not x.requires_grad:
        return False
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0:
        require_no_grad(name, x, "to be rotated in place under a compiler or a transform", "Use rotate")
    if x.is_leaf or (x._is_view() and x._base.is_leaf):
        require_no_grad(name, x, "as a leaf, or a part of one, to be rotated in place", "Use rotate")
    if x._is_view() and torch._C._autograd._get_creation_meta(x) != torch._C._autograd.CreationMeta.DEFAULT:
        raise ValueError(
            f"{name} must not be a view that autograd forbids writing to, as split, chunk, unbind and no_grad return; "
            "got one. Slice the tensor, or use rotate."
        )
    return True


def rotated_(q: Any, k: Any, rotation: Rotation, layout: Layout, kernel: RotationKernel) -> None:
    """Rotate q and k where they are, by a kernel, with gradients for those that need one."""
    for x in (q, k):
        if x.requires_grad:
            _InPlace.apply(x, rotation.cos, rotation.sin, rotation, layout, kernel)
        else:
            kernel.rotate_in_place(rotation, heads_first(x, layout))


class _InPlace(torch.autograd.Function):  # type: ignore[misc]
    """In-place rotation of one tensor, as autograd lets no function write to several views; saves cos and sin alone."""

    @staticmethod
    def forward(
        ctx: Any, x: Any, cosine: Any, sine: Any, rotation: Rotation, layout: Layout, kernel: RotationKernel
    ) -> Any:
        ctx.mark_dirty(x)
        ctx.save_for_backward(cosine, sine)  # by their names in `rotation` autograd would not see them written since
        ctx.rotation, ctx.layout, ctx.kernel = rotation, layout, kernel
        kernel.rotate_in_place(rotation, heads_first(x, layout))
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, ...]:
        """Rotate the gradient back by the transpose: the inverse rotation with the same factor."""
        cosine, sine = ctx.saved_tensors
        back = Rotation(cosine, -sine, ctx.rotation.pairing, ctx.rotation.factor, ctx.rotation.heads)
        gradient = native.with_contiguous_channels(heads_first(gradient, ctx.layout))
        (rotated,) = ctx.kernel.rotate(back, gradient)
        return heads_first(rotated, ctx.layout), None, None, None, None, None
