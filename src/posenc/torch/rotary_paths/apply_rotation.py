"""Entry points that rotate queries and keys, by whichever kernel there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from posenc.core import validation
from posenc.core.rotation import LAYOUTS, Layout, Operator, Rotation
from posenc.torch.rotary_paths import fast_path, in_place_autograd
from posenc.torch.rotary_paths.aliasing import mark_written
from posenc.torch.rotary_paths.angles import Angles
from posenc.torch.rotary_paths.argument_checks import check_rotation, check_vectors, heads_first, writable_pair
from posenc.torch.rotary_paths.rotation_kernels import (
    IMPLS,
    Impl,
    KernelName,
    RotationKernel,
    as_rotation,
    kernels_to_try,
)


@dataclass(frozen=True)
class Choice:
    """The implementation that `rotate` takes for some tensors, and why.

    Attributes:
        impl: Its name.
        reason: Why it is taken, and why those that would come before it are not.
    """

    impl: Literal["reference"] | KernelName
    reason: str


def rotate(
    q: Tensor, k: Tensor, rotation: Rotation | Angles, *, layout: Layout, impl: Impl = "auto"
) -> tuple[Tensor, Tensor]:
    """Rotate queries and keys that share their positions, in one pass.

    Autograd, `torch.compile`, `torch.export` and vmap see through. Each product is formed in float32 at least and
    rounded once.

    Args:
        q: Queries, (batch, heads, time, dim) for layout "bhtd"; float32, bfloat16 or float16, float64 with a float64
            rotation.
        k: Keys, (batch, key heads, time, dim), of the dtype of q.
        rotation: The rotation of their positions, `encoding.rotation(positions)`, made once a step; or
            `angles(encoding, positions)`, of which the kernel makes cosines and sines itself.
        layout: Order of the axes of q and k, "bhtd" or "bthd".
        impl: "reference" is `rotation(q, layout=layout)`; "native" the compiled kernel of posenc-kernels for the CPU;
            "torch" plain PyTorch in blocks that stay in the cache; both give the bits of the reference. "triton" is
            the kernel for accelerators, with the same bits for a rotation, and within 1.2e-7 for angles. "auto" is the
            kernel of the device where it can, else "torch" on the CPU, else the reference: `chosen` says which.

    Returns:
        Rotated q and k, in their own dtype and layout and in new memory.

    Raises:
        TypeError: q or k is no dense tensor, or `rotation` is neither a Rotation of tensors nor angles.
        ValueError: q, k and `rotation` differ in width, length, batch, heads, dtype or device, or the `impl` that is
            named cannot rotate these tensors.

    Example:
        >>> import torch, posenc
        >>> q, k = torch.ones(1, 4, 3, 8), torch.ones(1, 2, 3, 8)
        >>> q, k = rotate(q, k, posenc.RoPE(dim=8).rotation(torch.arange(3)), layout="bhtd")
        >>> q.shape, k.shape
        (torch.Size([1, 4, 3, 8]), torch.Size([1, 2, 3, 8]))
    """
    both: tuple[Tensor, Tensor] | None = fast_path.rotate(q, k, rotation, layout, impl)
    return rotate_checked(q, k, rotation, layout, impl) if both is None else both


def rotate_checked(
    q: Tensor, k: Tensor, rotation: Rotation | Angles, layout: Layout, impl: Impl
) -> tuple[Tensor, Tensor]:
    """Rotate where `fast_path` does not: with autograd, tracers or transforms, or by raising the error."""
    kernel, _ = kernel_for(q, k, rotation, layout, impl)
    if kernel is None:
        rotation = as_rotation(rotation, q)
        return rotation(q, layout=layout), rotation(k, layout=layout)
    first, second = kernel.rotate(rotation, heads_first(q, layout), heads_first(k, layout))
    return heads_first(first, layout), heads_first(second, layout)


def rotate_one(x: Tensor, rotation: Operator, *, layout: Layout) -> Tensor:
    """Rotate one tensor as `rotation(x, layout=layout)` does, by the kernel or plain PyTorch where they can."""
    if type(rotation) is not Rotation or x.ndim != 4 or not (x.is_cpu or x.is_cuda):
        return rotation(x, layout=layout)
    first = heads_first(x, layout)
    given = (first,) if x.is_cpu else (first, first[:, :0])  # Triton's kernel takes keys too
    for kernel in kernels_to_try("auto", x):
        if kernel.unsupported_reason(rotation, *given) is None:
            return heads_first(kernel.rotate(rotation, *given)[0], layout)
    return rotation(x, layout=layout)


def rotate_(
    q: Tensor, k: Tensor, rotation: Rotation | Angles, *, layout: Layout, impl: Impl = "auto"
) -> tuple[Tensor, Tensor]:
    """Rotate queries and keys in place; the kernel allocates nothing.

    Results of other operations are rotated and recorded by autograd; what autograd had kept of them is an error in
    backward. Backward allocates its own gradients, since the gradient that comes may belong to somebody else too.

    Args:
        q: As for `rotate`; memory of its own.
        k: As for `rotate`; memory of its own.
        rotation: As for `rotate`.
        layout: As for `rotate`.
        impl: As for `rotate`; "triton" records no gradient here.

    Returns:
        q and k themselves, rotated.

    Raises:
        TypeError: As for `rotate`.
        ValueError: As for `rotate`; or q or k overlaps itself (`expand`) or the other, is a leaf that requires a
            gradient or a part of one, or is a view that autograd forbids writing to. Use `rotate` there.

    Example:
        >>> import torch, posenc
        >>> q, k = torch.ones(1, 4, 3, 8), torch.ones(1, 2, 3, 8)
        >>> rotated, _ = rotate_(q, k, posenc.RoPE(dim=8).rotation(torch.arange(3)), layout="bhtd")
        >>> rotated is q
        True
    """
    if fast_path.rotate_(q, k, rotation, layout, impl):
        return q, k
    kernel, _ = kernel_for(q, k, rotation, layout, impl)
    needed = [in_place_autograd.requires_autograd(*of) for of in (("q", q), ("k", k))]
    writable_pair(q, k)
    if kernel is None:
        rotation = as_rotation(rotation, q)
        return q.copy_(rotation(q, layout=layout)), k.copy_(rotation(k, layout=layout))
    if any(needed):
        if not kernel.has_gradient_in_place:
            raise ValueError(
                f"q and k must not require a gradient in place with impl={kernel.name!r}; got one that does. Use "
                "rotate."
            )
        in_place_autograd.rotated_(q, k, as_rotation(rotation, q), layout, kernel)
        return q, k
    kernel.rotate_in_place(rotation, heads_first(q, layout), heads_first(k, layout))
    mark_written(q, k)
    return q, k


def chosen(q: Tensor, k: Tensor, rotation: Rotation | Angles, *, layout: Layout, impl: Impl = "auto") -> Choice:
    """Say which implementation `rotate` and `rotate_` take for these arguments, and why.

    Args:
        q: As for `rotate`.
        k: As for `rotate`.
        rotation: As for `rotate`.
        layout: As for `rotate`.
        impl: As for `rotate`.

    Returns:
        The name of the implementation and the reason.

    Raises:
        TypeError: As for `rotate`.
        ValueError: As for `rotate`.

    Example:
        >>> import torch, posenc
        >>> q, k = torch.ones(1, 4, 3, 8, dtype=torch.float64), torch.ones(1, 2, 3, 8, dtype=torch.float64)
        >>> rotation = posenc.RoPE(dim=8).rotation(torch.arange(3), dtype=torch.float64)
        >>> chosen(q, k, rotation, layout="bhtd", impl="reference")
        Choice(impl='reference', reason='asked for')
    """
    kernel, against = kernel_for(q, k, rotation, layout, impl)
    name: Literal["reference"] | KernelName = "reference" if kernel is None else kernel.name
    if name == impl:
        return Choice(name, "asked for")
    return Choice(name, "; ".join([*against, *([] if kernel is None else [f"{name} can rotate these tensors"])]))


def kernel_for(
    q: Tensor, k: Tensor, rotation: Rotation | Angles, layout: Layout, impl: Impl
) -> tuple[RotationKernel | None, list[str]]:
    """Kernel for these tensors (None for the reference), and the reasons against those that come before it."""
    validation.choice("impl", impl, IMPLS)
    validation.choice("layout", layout, LAYOUTS)
    check_rotation(rotation)
    check_vectors(q, k, rotation, layout)
    tensors = heads_first(q, layout), heads_first(k, layout)
    against: list[str] = []
    for kernel in kernels_to_try(impl, q):
        reason = kernel.unsupported_reason(rotation, *tensors)
        if reason is None:
            return kernel, against
        if impl == kernel.name:
            raise ValueError(f"impl must be one that can rotate these tensors; got {impl!r}, but {reason}. Use 'auto'.")
        against.append(reason)
    return None, against
