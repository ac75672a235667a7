"""Numbers as a 16-bit type holds them, where NumPy has no such type."""

from __future__ import annotations

import numpy as np


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """float32 numbers rounded to the nearest bfloat16, ties to even; the result is float32 again.

    bfloat16 is the upper half of a float32: adding half of what is cut, less one where the kept part is even, rounds.

    >>> to_bfloat16(np.array([1.0, 1.00390625, 1.01171875], dtype=np.float32)).tolist()
    [1.0, 1.0, 1.015625]
    """
    single = np.ascontiguousarray(values, dtype=np.float32)
    bits = single.view(np.uint32)
    rounded = bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    kept = (rounded & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(single), kept, single)
