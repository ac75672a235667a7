"""Numbers rounded to a 16-bit type; bfloat16 too, which NumPy does not have."""

from __future__ import annotations

from typing import Literal

import numpy as np

#: The 16-bit types.
NarrowType = Literal["float16", "bfloat16"]
NARROW_TYPES: tuple[NarrowType, ...] = ("bfloat16", "float16")


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """Round float32 numbers to the nearest bfloat16, ties to even; the result is float32 again.

    bfloat16 is the upper half of a float32: adding half of what is cut, less one where the kept part is even, rounds.

    Example:
        >>> to_bfloat16(np.array([1.0, 1.00390625, 1.01171875], dtype=np.float32)).tolist()
        [1.0, 1.0, 1.015625]
    """
    single = np.ascontiguousarray(values, dtype=np.float32)
    bits = single.view(np.uint32)
    rounded = bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    kept = (rounded & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(single), kept, single)


def to_tf32(values: np.ndarray) -> np.ndarray:
    """Round numbers to TF32, as float64 again: float32 with 10 bits behind the point, as tensor cores multiply them.

    Example:
        >>> to_tf32(np.array([2049.0, 4099.0, 1.0])).tolist()
        [2050.0, 4100.0, 1.0]
    """
    single = np.ascontiguousarray(values, dtype=np.float32)
    kept = ((single.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(single), kept, single).astype(np.float64)


def narrowed(values: np.ndarray, dtype: NarrowType) -> np.ndarray:
    """Round numbers to a 16-bit type, as float64 again; those too large for float16 become infinite.

    Example:
        >>> narrowed(np.array([257.0, 1000.0]), "bfloat16").tolist(), narrowed(np.array([2049.0]), "float16").tolist()
        ([256.0, 1000.0], [2048.0])
    """
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float16) if dtype == "float16" else to_bfloat16(values.astype(np.float32))
    return narrow.astype(np.float64)
