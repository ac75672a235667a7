"""Kinds of numbers: the same words for every library."""

from __future__ import annotations

from typing import Any

import numpy as np

from posenc import _check
from posenc._array.libraries import Array, has_float64, library, namespace

#: What results may be rounded to, where the library has it: NumPy has no bfloat16.
RESULTS = ("float16", "bfloat16", "float32", "float64")


def astype(array: Array, dtype: Any) -> Array:
    """The array in another dtype."""
    which = library(array)
    if which == "torch":
        return array.to(dtype)
    if which == "jax":
        return array.astype(dtype)
    with np.errstate(over="ignore"):  # infinity is the rounded value of what 16 bits do not hold
        return array.astype(dtype)


def kind(array: Array) -> str:
    """`"integer"`, `"float"`, `"narrow"` (a float of 16 bits or fewer) or `"other"`, of any library's dtype."""
    name = dtype_name(array.dtype)
    if name in ("float32", "float64"):
        return "float"
    if "float" in name:
        return "narrow"
    return "integer" if name.startswith(("int", "uint")) else "other"


def dtype_name(dtype: Any) -> str:
    """`"float32"` for every library's float32, and so on."""
    if str(dtype).startswith("torch."):
        return str(dtype).removeprefix("torch.")
    return str(np.dtype(dtype))


def dtype_of(name: str, like: Array) -> Any:
    """The dtype of that name in the array's own library."""
    return getattr(namespace(like), name)


def result_dtype(dtype: Any, like: Array) -> Any:
    """What `dtype=None` means: float64 in NumPy, float32 in PyTorch and JAX, whatever their global defaults say."""
    if dtype is None:
        return np.float64 if library(like) == "numpy" else dtype_of("float32", like)
    try:
        name = dtype_name(dtype)
    except TypeError:
        name = str(dtype)
    if name not in RESULTS or not hasattr(namespace(like), name):
        raise TypeError(f"dtype must be a floating dtype; got {_check.shown(dtype)}. Give float32 or float64, say.")
    if name == "float64" and not has_float64(like):
        raise TypeError("dtype must be one that the device has; got float64. Enable 64-bit floats, or ask for float32.")
    return dtype_of(name, like)


def wide(array: Array) -> Array:
    """At least float32: angles, distances and products are never formed in a 16-bit type."""
    return array if dtype_name(array.dtype) in ("float32", "float64") else astype(array, dtype_of("float32", array))


def signed(array: Array) -> Array:
    """Integers as the library's widest signed type, so that differences do not wrap; floats as the widest float."""
    if kind(array) == "integer":
        return astype(array, dtype_of("int64" if has_float64(array) or library(array) != "jax" else "int32", array))
    return widest(array)


def widest(array: Array) -> Array:
    """As float64 where there is one, else as float32."""
    return astype(array, widest_dtype(array))


def widest_dtype(array: Array) -> Any:
    """float64 where there is one, else float32."""
    return dtype_of("float64" if has_float64(array) else "float32", array)


def wide_dtype(dtype: Any, like: Array) -> Any:
    """The dtype to compute in for a result of this dtype: itself, or float32 for one of 16 bits."""
    return dtype if dtype_name(dtype) in ("float32", "float64") else dtype_of("float32", like)
