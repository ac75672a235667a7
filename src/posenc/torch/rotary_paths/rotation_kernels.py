"""Table of the kernels that rotate queries and keys: what each cannot take, and how to call it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import torch

from posenc.core.arrays import Array
from posenc.core.rotation import Rotation
from posenc.kernels import native, native_cos_sin, plain_torch
from posenc.torch.rotary_paths.angles import Angles

#: The rows of the table.
KernelName = Literal["torch", "native", "triton"]
Impl = Literal["auto", "reference", KernelName]
IMPLS = ("auto", "reference", "torch", "native", "triton")
HAS_TRITON = find_spec("triton") is not None


@dataclass(frozen=True)
class RotationKernel:
    """Implementation of a rotation besides the reference; tensors are (batch, heads, time, dim).

    Args:
        name: Its name, as `impl` gives it.
        unsupported_reason: (rotation, *tensors) → why it cannot rotate them, None where it can.
        rotate: (rotation, *tensors) → a tuple of rotated tensors in new memory, with gradients for them.
        rotate_in_place: (rotation, *tensors) → None; no gradient is recorded.
        into_cache: (rotation, (q, k, v, k_cache, v_cache), slots, paged) → None; None if it has no such pass.
        takes_norm: Whether both rotations take `norm=`, which is applied before them in the same pass.
        has_gradient_in_place: Whether `rotate_` may follow it with autograd.
    """

    name: KernelName
    unsupported_reason: Callable[..., str | None]
    rotate: Callable[..., tuple[Array, ...]]
    rotate_in_place: Callable[..., None]
    into_cache: Callable[..., None] | None = None
    takes_norm: bool = False
    has_gradient_in_place: bool = True


def kernels_to_try(impl: Impl, q: Array) -> tuple[RotationKernel, ...]:
    """Kernels to try: the one named; for "auto" that of the device, then plain PyTorch; none for "reference"."""
    if impl == "auto":
        return KERNELS["triton" if q.is_cuda else "native"], KERNELS["torch"]
    return () if impl == "reference" else (KERNELS[impl],)


def as_rotation(rotation: Rotation | Angles, x: Array) -> Rotation:
    """Return the rotation, made from angles if these are given, in float64 for float64 x, else in float32."""
    if isinstance(rotation, Rotation):
        return rotation
    return rotation.rotation(dtype=torch.float64 if x.dtype == torch.float64 else torch.float32)


def _native_unsupported(rotation: Rotation | Angles, *tensors: Array) -> str | None:
    if isinstance(rotation, Angles):
        return native_cos_sin.unsupported_reason(rotation.integer_positions, *tensors)
    return native.unsupported_reason(rotation, *tensors)


def _native_rotate(rotation: Rotation | Angles, *tensors: Array) -> tuple[Array, ...]:
    if isinstance(rotation, Angles):
        q, k = tensors
        return native_cos_sin.rotate(q, k, rotation.integer_positions, rotation.limbs, rotation.fixed)
    return tuple(native.rotate(x, rotation) for x in tensors)


def _native_rotate_in_place(rotation: Rotation | Angles, *tensors: Array) -> None:
    if isinstance(rotation, Angles):
        q, k = tensors
        native_cos_sin.rotate_in_place(q, k, rotation.integer_positions, rotation.limbs, rotation.fixed)
    else:
        native.rotate_in_place(rotation, *tensors)


def _native_into_cache(rotation: Rotation | Angles, tensors: tuple[Array, ...], slots: Array, paged: bool) -> None:
    rotation = rotation.compiled_rotation() if isinstance(rotation, Angles) else rotation
    q, k, v, k_cache, v_cache = tensors
    native.rotate_into_cache(rotation, q, k, v, k_cache, v_cache, slots, paged)


def _torch_unsupported(rotation: Rotation | Angles, *tensors: Array) -> str | None:
    return plain_torch.unsupported_reason(tensors[0], rotation if isinstance(rotation, Rotation) else None)


def _torch_rotate(rotation: Rotation | Angles, *tensors: Array) -> tuple[Array, ...]:
    return plain_torch.rotate(as_rotation(rotation, tensors[0]), *tensors)


def _torch_rotate_in_place(rotation: Rotation | Angles, *tensors: Array) -> None:
    plain_torch.rotate_in_place(as_rotation(rotation, tensors[0]), *tensors)


def _triton_unsupported(rotation: Rotation | Angles, *tensors: Array) -> str | None:
    if not HAS_TRITON:
        return "Triton is not installed"
    from posenc.kernels import triton  # when it is first wanted: it takes Triton with it

    if isinstance(rotation, Angles):
        return triton.unsupported_tensors(rotation.integer_positions, *tensors)
    return triton.unsupported_reason(rotation, *tensors)


def _triton_rotate(rotation: Rotation | Angles, q: Array, k: Array, norm: tuple[Any, ...] = ()) -> tuple[Array, Array]:
    from posenc.kernels import triton

    return triton.rotate(q, k, *_triton_source(rotation), triton.Norm(*norm))


def _triton_rotate_in_place(rotation: Rotation | Angles, q: Array, k: Array, norm: tuple[Any, ...] = ()) -> None:
    from posenc.kernels import triton

    triton.rotate_in_place(q, k, *_triton_source(rotation), triton.Norm(*norm))


def _triton_into_cache(rotation: Rotation | Angles, tensors: tuple[Array, ...], slots: Array, paged: bool) -> None:
    from posenc.kernels import triton

    q, k, v, *caches = tensors
    triton.rotate_into_cache(q, k, v, (caches[0], caches[1]), slots, paged, *_triton_source(rotation))


def _triton_source(rotation: Rotation | Angles) -> tuple[Any, Any]:
    """Return (CosSinSource, Channels) for the Triton kernel, with a table for a rotation and positions for angles."""
    from posenc.kernels import triton

    if isinstance(rotation, Rotation):
        return triton.of_table(rotation)
    source = triton.CosSinSource(
        positions=rotation.integer_positions, words=rotation.words, factor=rotation.fixed.factor
    )
    return source, triton.Channels(*native.channels(rotation.fixed))


KERNELS: dict[KernelName, RotationKernel] = {
    "native": RotationKernel(
        "native", _native_unsupported, _native_rotate, _native_rotate_in_place, _native_into_cache
    ),
    "torch": RotationKernel("torch", _torch_unsupported, _torch_rotate, _torch_rotate_in_place),
    "triton": RotationKernel(
        "triton",
        _triton_unsupported,
        _triton_rotate,
        _triton_rotate_in_place,
        _triton_into_cache,
        takes_norm=True,
        has_gradient_in_place=False,
    ),
}
