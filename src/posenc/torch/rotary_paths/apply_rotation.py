"""One entry point to rotating queries and keys, by whichever kernel there is."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import torch

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.rotation import LAYOUTS, Layout, Operator, Rotation
from posenc.kernels import native, plain_torch
from posenc.kernels import native_cos_sin as kernel
from posenc.torch.rotary_paths import fast_path, in_place_autograd
from posenc.torch.rotary_paths.aliasing import mark_written
from posenc.torch.rotary_paths.angles import Angles
from posenc.torch.rotary_paths.argument_checks import check_rotation, check_vectors, heads_first, writable_pair

Impl = Literal["auto", "reference", "torch", "native", "triton"]
HAS_TRITON = find_spec("triton") is not None
IMPLS = ("auto", "reference", "torch", "native", "triton")
Taken = Literal["reference", "torch", "native", "triton"]


@dataclass(frozen=True)
class Choice:
    """What `impl="auto"` takes for some tensors, and why."""

    impl: Taken
    reason: str


def rotate(
    q: Array, k: Array, rotation: Rotation | Angles, *, layout: Layout, impl: Impl = "auto"
) -> tuple[Array, Array]:
    """Queries and keys that share their positions, turned into new memory.

    Autograd, compile, export and vmap see through.

    Args:
        q: (batch, heads, time, dim).
        k: (batch, key heads, time, dim) for layout "bhtd", the middle axes swapped for "bthd"; float32, bfloat16,
            float16 (float64 with a float64 rotation).
        rotation: Of their positions, `encoding.rotation(positions)`, made once a step; or `angles(encoding,
            positions)`, of which the kernel makes its cosines and sines by itself. Each product is formed in float32 at
            least and rounded once.
        impl: "reference" is `rotation(q, layout=layout)`; "native" the compiled kernel of posenc-kernels for the CPU
            and "torch" plain PyTorch in blocks that stay in the cache, both to the bits of the reference; "triton" the
            kernel for accelerators, to the same bits of a rotation, and of angles within 1.2e-7; ValueError where the
            one that is named cannot. "auto" is the kernel of the device where it can, else "torch" on the CPU, else the
            reference: `chosen` says which.

    Raises:
        TypeError: A value breaks its rule; the message names the argument.
        ValueError: A value breaks its rule; the message names the argument.

    Example:
        >>> import torch, posenc
        >>> q, k = torch.ones(1, 4, 3, 8), torch.ones(1, 2, 3, 8)
        >>> q, k = rotate(q, k, posenc.RoPE(dim=8).rotation(torch.arange(3)), layout="bhtd")
        >>> q.shape, k.shape
        (torch.Size([1, 4, 3, 8]), torch.Size([1, 2, 3, 8]))
    """
    both: tuple[Array, Array] | None = fast_path.rotate(q, k, rotation, layout, impl)
    if both is not None:
        return both
    name, _ = taken(q, k, rotation, layout, impl)
    if name == "reference":
        rotation = as_rotation(rotation, q)
        return rotation(q, layout=layout), rotation(k, layout=layout)
    first, second = heads_first(q, layout), heads_first(k, layout)
    if name == "torch":
        first, second = plain_torch.rotate(as_rotation(rotation, q), first, second)
    elif name == "triton":
        from posenc.kernels import triton

        first, second = triton.rotate(first, second, *triton_cos_sin(rotation))
    elif isinstance(rotation, Angles):
        first, second = kernel.rotate(first, second, rotation.integer_positions, rotation.limbs, rotation.fixed)
    else:
        first, second = native.rotate(first, rotation), native.rotate(second, rotation)
    return heads_first(first, layout), heads_first(second, layout)


def rotate_one(x: Array, rotation: Operator, *, layout: Layout) -> Array:
    """One tensor, as `rotation(x, layout=layout)` rotates it, by the kernel or plain PyTorch in blocks where they can."""
    if type(rotation) is not Rotation or x.ndim != 4 or not x.is_cpu:
        return rotation(x, layout=layout)
    first = heads_first(x, layout)
    if native.unsupported_reason(rotation, first) is None:
        return heads_first(native.rotate(first, rotation), layout)
    if plain_torch.unsupported_reason(first, rotation) is None:
        return heads_first(plain_torch.rotate(rotation, first)[0], layout)
    return rotation(x, layout=layout)


def rotate_(
    q: Array, k: Array, rotation: Rotation | Angles, *, layout: Layout, impl: Impl = "auto"
) -> tuple[Array, Array]:
    """`rotate`, in place: q and k themselves are rotated, and returned. Nothing is allocated by the kernel.

    Tensors that overlap themselves (`expand`) or each other are refused: use `rotate`. So are leaves that need a
    gradient, parts of them, and views that autograd lets nobody write to; results of other operations are rotated and
    recorded, and what autograd had kept of them is an error in backward. Backward takes new memory, as the gradient
    that comes may be somebody else's too.

    Example:
        >>> import torch, posenc
        >>> q, k = torch.ones(1, 4, 3, 8), torch.ones(1, 2, 3, 8)
        >>> rotated, _ = rotate_(q, k, posenc.RoPE(dim=8).rotation(torch.arange(3)), layout="bhtd")
        >>> rotated is q
        True
    """
    if fast_path.rotate_(q, k, rotation, layout, impl):
        return q, k
    name, _ = taken(q, k, rotation, layout, impl)
    needed = [in_place_autograd.requires_autograd(*of) for of in (("q", q), ("k", k))]
    writable_pair(q, k)
    if name == "reference":
        rotation = as_rotation(rotation, q)
        return q.copy_(rotation(q, layout=layout)), k.copy_(rotation(k, layout=layout))
    if any(needed):
        if name == "triton":
            raise ValueError(
                "q and k must not require a gradient in place with impl='triton'; got one that does. Use rotate."
            )
        in_place_autograd.rotated_(q, k, as_rotation(rotation, q), layout, name)
        return q, k
    first, second = heads_first(q, layout), heads_first(k, layout)
    if name == "torch":
        plain_torch.rotate_in_place(as_rotation(rotation, q), first, second)
    elif name == "triton":
        from posenc.kernels import triton

        triton.rotate_in_place(first, second, *triton_cos_sin(rotation))
    elif isinstance(rotation, Angles):
        kernel.rotate_in_place(first, second, rotation.integer_positions, rotation.limbs, rotation.fixed)
    else:
        native.rotate_in_place(rotation, first, second)
    mark_written(q, k)
    return q, k


def chosen(q: Array, k: Array, rotation: Rotation | Angles, *, layout: Layout, impl: Impl = "auto") -> Choice:
    """Which implementation `rotate` and `rotate_` take for these arguments, and why.

    An impl that is named and cannot is a ValueError.

    Example:
        >>> import torch, posenc
        >>> q, k = torch.ones(1, 4, 3, 8, dtype=torch.float64), torch.ones(1, 2, 3, 8, dtype=torch.float64)
        >>> rotation = posenc.RoPE(dim=8).rotation(torch.arange(3), dtype=torch.float64)
        >>> chosen(q, k, rotation, layout="bhtd", impl="reference")
        Choice(impl='reference', reason='asked for')
    """
    name, against = taken(q, k, rotation, layout, impl)
    if name == impl:
        return Choice(name, "asked for")
    return Choice(name, "; ".join(against if name == "reference" else [*against, f"{name} can rotate these tensors"]))


def taken(q: Array, k: Array, rotation: Rotation | Angles, layout: Layout, impl: Impl) -> tuple[Taken, list[str]]:
    """Which implementation is taken, and why each that would come before it is not."""
    validation.choice("impl", impl, IMPLS)
    validation.choice("layout", layout, LAYOUTS)
    check_rotation(rotation)
    check_vectors(q, k, rotation, layout)
    tensors = heads_first(q, layout), heads_first(k, layout)
    against: list[str] = []
    for name in _candidates(impl, q):
        reason = _unsupported_reason(name, rotation, *tensors)
        if reason is None:
            return name, against
        if impl == name:
            raise ValueError(f"impl must be one that can rotate these tensors; got {impl!r}, but {reason}. Use 'auto'.")
        against.append(reason)
    return "reference", against


def _candidates(impl: Impl, q: Array) -> tuple[Literal["torch", "native", "triton"], ...]:
    """What is asked for; of itself the kernel of the device, and then blocks of plain PyTorch."""
    if impl == "auto":
        return "triton" if q.is_cuda else "native", "torch"
    return () if impl == "reference" else (impl,)


def _unsupported_reason(name: str, rotation: Rotation | Angles, *tensors: Array) -> str | None:
    if name == "triton":
        return _triton_unsupported(rotation, *tensors)
    if name == "torch":
        return plain_torch.unsupported_reason(tensors[0], rotation if isinstance(rotation, Rotation) else None)
    if isinstance(rotation, Angles):
        return kernel.unsupported_reason(rotation.integer_positions, *tensors)
    return native.unsupported_reason(rotation, *tensors)


def as_rotation(rotation: Rotation | Angles, x: Array) -> Rotation:
    """The rotation; of angles one is made, as precise as what it rotates."""
    if isinstance(rotation, Rotation):
        return rotation
    return rotation.rotation(dtype=torch.float64 if x.dtype == torch.float64 else torch.float32)


def triton_cos_sin(rotation: Rotation | Angles) -> Any:
    """Waves and channels, as the Triton kernel takes them."""
    from posenc.kernels import triton

    if isinstance(rotation, Rotation):
        return triton.of_table(rotation)
    how = native.channels(rotation.fixed)
    return triton.CosSinSource(
        positions=rotation.integer_positions, words=rotation.words, factor=rotation.fixed.factor
    ), triton.Channels(*how)


def _triton_unsupported(rotation: Rotation | Angles, *tensors: Array) -> str | None:
    if not HAS_TRITON:
        return "Triton is not installed"
    from posenc.kernels import triton  # when it is first wanted: it takes Triton with it

    if isinstance(rotation, Angles):
        return triton.unsupported_tensors(rotation.integer_positions, *tensors)
    return triton.unsupported_reason(rotation, *tensors)
