"""Resolution of the library of an array. Nothing is imported: a library that has made an array is loaded."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays.array_library import NUMPY, Array, Library
from posenc.core.arrays.jax_library import Jax
from posenc.core.arrays.torch_library import Torch


def library(*arrays: Array | Library) -> Library:
    """Resolve the library of arrays, which must all come from one.

    Args:
        *arrays: Arrays of one library; the result lives on the device of the first. A `Library` in place of the only
            array is returned as it is: inner functions hand on what has been resolved.

    Returns:
        Library of the call.

    Raises:
        TypeError: An argument is no array, or two of them come from different libraries.
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
    """Refuse arrays of two libraries, and objects that are no arrays."""
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
    """Name of the library of an array.

    Returns:
        `"numpy"`, `"torch"` or `"jax"`; None for an object that is no array.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return "numpy"
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return "torch"
    jax = sys.modules.get("jax")
    return "jax" if jax is not None and isinstance(value, jax.Array) else None


def to_numpy(array: Array) -> np.ndarray:
    """Values of an array on the host, as a NumPy array."""
    return np.asarray(array.detach().cpu() if library_name(array) == "torch" else array)
