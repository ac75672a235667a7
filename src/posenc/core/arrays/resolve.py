"""Which library an array belongs to: nothing is imported here, since one that handed in an array is already loaded."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays.array_library import NUMPY, Array, Library
from posenc.core.arrays.jax_library import Jax
from posenc.core.arrays.torch_library import Torch


def library(*arrays: Array | Library) -> Library:
    """The library of these arrays, which must all come from one; they live where the first one does.

    A library in place of the only array is that library: inner functions hand on what has been resolved.
    """
    first = arrays[0]
    if isinstance(first, Library):
        return first
    for array in arrays:
        if type(array) is not type(first):
            _check_one_library(arrays)
            break
    if isinstance(first, (np.ndarray, np.generic)):
        return NUMPY
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(first, torch.Tensor):
        return Torch(first.device)
    _check_one_library(arrays)
    return Jax()


def _check_one_library(arrays: tuple[Array, ...]) -> None:
    """Refuse arrays of two libraries, and what no library made."""
    name = library_name(arrays[0])
    for array in arrays:
        other = library_name(array)
        if other is None:
            raise TypeError(
                f"array must be a NumPy, PyTorch or JAX array; got {validation.shown(array)}. Convert it first."
            )
        if other != name:
            raise TypeError(
                f"arrays must come from one library; got {name} and {other}. Convert one of them to the other's."
            )


def library_name(value: Any) -> str | None:
    """`"numpy"`, `"torch"` or `"jax"`; None for what no library made."""
    if isinstance(value, (np.ndarray, np.generic)):
        return "numpy"
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return "torch"
    jax = sys.modules.get("jax")
    return "jax" if jax is not None and isinstance(value, jax.Array) else None


def to_numpy(array: Array) -> np.ndarray:
    """The values on the host."""
    return np.asarray(array.detach().cpu() if library_name(array) == "torch" else array)
