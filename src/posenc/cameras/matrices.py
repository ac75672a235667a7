"""Matrices of cameras: checked, inverted and given to the tokens of their images; never in the model's dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions, checked

#: How far RᵀR may be from 1: files of cameras are written with few decimals.
ROTATION_ERROR = 1e-3


def square(name: str, value: Any, size: int, like: Array | None = None) -> Array:
    """Check finite matrices (images, size, size) or (batch, images, size, size); give them in the widest float."""
    array = arrays.as_array(name, value, like)
    lib = arrays.library(array) if like is None else arrays.library(array, like)
    if arrays.kind(array) not in ("integer", "float"):
        raise TypeError(
            f"{name} must be float32 or float64; got {arrays.dtype_name(array.dtype)}. Keep cameras as they are; they "
            "never take the model's dtype."
        )
    if array.ndim not in (3, 4) or tuple(array.shape[-2:]) != (size, size):
        raise ValueError(
            f"{name} must have shape (images, {size}, {size}) or (batch, images, {size}, {size}); got "
            f"{tuple(array.shape)}. Give one matrix for each image."
        )
    array = lib.widest(array)
    finite = _every(lib.xp.isfinite(array))
    return valid_matrices(finite, array, f"{name} must be finite; got NaN or infinity", "Leave these images out.")


def rigid(name: str, value: Any, like: Array | None = None) -> Array:
    """Check world-to-camera matrices [R t; 0 0 0 1] with an orthogonal R."""
    matrices = square(name, value, 4, like)
    lib = arrays.library(matrices)
    last = _every((matrices == lib.constant(np.eye(4), matrices.dtype))[..., 3:, :])
    matrices = valid_matrices(
        last,
        matrices,
        f"{name} must have the last row (0, 0, 0, 1); got another one",
        "Give world-to-camera matrices that multiply columns; transpose those that multiply rows.",
    )
    rotation = matrices[..., :3, :3]
    gram = lib.product(rotation.swapaxes(-1, -2), rotation)
    orthogonal = _every(abs(gram - lib.constant(np.eye(3), matrices.dtype)) <= ROTATION_ERROR)
    return valid_matrices(
        orthogonal,
        matrices,
        f"{name} must hold rotations, RᵀR = 1 to within {ROTATION_ERROR:g}; got another 3×3 block",
        "Give the extrinsic matrix alone, without intrinsics or scale.",
    )


def inverse(name: str, matrices: Array) -> Array:
    """Invert each matrix; ValueError where M·M⁻¹ is not I to rounding, or NaN where values cannot be read."""
    lib = arrays.library(matrices)
    xp, one = lib.xp, lib.constant(np.eye(matrices.shape[-1]), matrices.dtype)
    with lib.full_precision():
        determinant = xp.linalg.det(matrices)
        regular = xp.isfinite(determinant) & (determinant != 0)
        result = xp.linalg.inv(xp.where(regular[..., None, None], matrices, one))
    tolerance = float(np.finfo(arrays.dtype_name(matrices.dtype)).eps) ** 0.5
    undone = _every(abs(lib.product(matrices, result) - one) <= tolerance)
    return valid_matrices(
        regular & undone,
        result,
        f"{name} must be invertible; got a matrix that no matrix undoes in {arrays.dtype_name(matrices.dtype)}",
        "Look at its focal lengths and rotation.",
    )


def valid_matrices(valid: Array, matrices: Array, rule: str, advice: str) -> Array:
    """Return the matrices if all are valid; where this cannot be read now, invalid ones become NaN."""
    lib = arrays.library(matrices)
    if not lib.concrete(valid):
        return lib.xp.where(valid[..., None, None], matrices, float("nan"))
    wrong = np.argwhere(~arrays.to_numpy(valid))
    if len(wrong):
        raise ValueError(f"{rule} at index {tuple(wrong[0].tolist())}. {advice}")
    return matrices


def of_tokens(matrices: Array, patches: int, dtype: Any) -> Array:
    """Matrix of each token, (*batch, images·patches, size, size), where images follow one another."""
    lib, (*batch, images, height, width) = arrays.library(matrices), matrices.shape
    lib.check_size("patches", math.prod(matrices.shape) * patches, dtype, matrices)
    narrow = lib.astype(matrices, dtype)[..., None, :, :]
    repeated = lib.xp.broadcast_to(narrow, (*batch, images, patches, height, width))
    return repeated.reshape((*batch, images * patches, height, width))


def patch_positions(patches: Any, cameras: Array) -> tuple[Positions, int]:
    """Coordinates of all tokens, (*batch, images·patches, 2), and how many tokens an image has."""
    positions = checked(patches, "patches", like=cameras)
    array, (*batch, images, _, _) = positions.array, cameras.shape
    shapes = ((), (images,), (*batch, images))
    if array.ndim < 2 or array.shape[-1] != 2 or tuple(array.shape[:-2]) not in shapes:
        raise ValueError(
            f"patches must have shape (patches, 2), or {(*batch, images)} before that, for {images} images; got "
            f"{tuple(array.shape)}. Give row and column of each patch: posenc.positions.grid(height, width), say."
        )
    count = array.shape[-2]
    if array.ndim == 2:
        array = positions.lib.xp.broadcast_to(array[None], (images, count, 2))
    return positions.with_array(array.reshape((*array.shape[:-3], images * count, 2))), count


def _every(valid: Array) -> Array:
    """Whether all entries of each matrix are valid."""
    return valid.all(-1).all(-1)


def table_dtype(matrices: Array, dtype: Any) -> Any:
    """Dtype of the matrices of tokens: `dtype` or the library's default, float32 at least."""
    lib = arrays.library(matrices)
    return lib.wide_dtype(lib.result_dtype(dtype))
