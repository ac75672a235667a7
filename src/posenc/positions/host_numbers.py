"""Outputs of a Hugging Face processor, from any library and device, as NumPy arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from posenc.core import arrays, validation

#: A kind, a mask and three coordinates, 8 bytes each, with room for copies.
BYTES_OF_A_TOKEN = 64
LARGEST = 2**53


def held(name: str, values: Any) -> np.ndarray:
    """Convert values from any library to a NumPy array, if coordinates for as many tokens fit into memory.

    Example:
        >>> held("seconds", [0.5]).tolist()
        [0.5]
    """
    shape = getattr(values, "shape", None)
    count = math.prod(shape) if shape is not None else len(values) if hasattr(values, "__len__") else 1
    validation.size(name, count, BYTES_OF_A_TOKEN)
    if hasattr(values, "detach"):
        if arrays.kind(values) == "other" and arrays.dtype_name(values.dtype) != "bool":
            raise TypeError(f"{name} must hold numbers; got {arrays.dtype_name(values.dtype)}. Convert it.")
        values = values.detach().cpu()
    try:
        found: np.ndarray = np.asarray(values)
    except ValueError:
        sizes = sorted({len(row) for row in values if hasattr(row, "__len__")})
        raise ValueError(
            f"{name} must have rows of one length; got rows of {sizes[0]} and of {sizes[-1]}. Pad them, and give "
            "attention_mask."
        ) from None
    return found


def whole_numbers(name: str, values: Any) -> np.ndarray:
    """Convert integers from any library to a NumPy int64 array; other numbers raise TypeError.

    Example:
        >>> whole_numbers("token_types", [0, 1]).tolist()
        [0, 1]
    """
    if isinstance(values, list | tuple):
        held(name, values)  # whose error says how to pad rows of several lengths
    found = arrays.numbers_on_host(name, values)
    if found.size and found.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold whole numbers; got {found.dtype}. Pass what the processor returned.")
    if found.size and not -LARGEST <= int(found.min()) <= int(found.max()) <= LARGEST:
        raise ValueError(
            f"{name} must be from -2^53 to 2^53; got {found.min()} to {found.max()}. Pass what the processor returned."
        )
    return found.astype(np.int64)
