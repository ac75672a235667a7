"""Conversion of arguments (arrays, numbers, lists, masks) to checked, dense arrays of one library."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays.array_library import Array, Library, dtype_name, kind
from posenc.core.arrays.resolve import library, library_name, to_numpy


def as_array(name: str, value: Any, like: Array | Library | None = None) -> Array:
    """Convert an argument to an array.

    An array stays as it is, on its device. A NumPy array together with one of JAX becomes one of JAX, as in JAX itself.

    Args:
        name: Name of the argument, for messages.
        value: An array, a number or a (nested) list of numbers.
        like: Array or library that numbers and lists follow, with its device; None for NumPy.

    Returns:
        Array with the numbers of `value`.

    Raises:
        TypeError: `value` holds no numbers, or is a masked, sparse, nested or distributed array.
        ValueError: `value` is an uneven list, or has whole numbers that 32 bits cannot hold where there are no 64.
    """
    alike = like is None or type(like) is np.ndarray
    if type(value) is np.ndarray and value.dtype.kind in "iuf" and (alike or _keeps_numpy(like)):
        return value
    torch = sys.modules.get("torch")
    if torch and type(value) is torch.Tensor and value.layout is torch.strided and not value.is_nested:
        return value
    if library_name(value) in ("torch", "jax"):
        return whole_array(name, value)
    if not isinstance(value, (np.ndarray, np.generic, int, float, list, tuple, range)):
        raise TypeError(
            f"{name} must be a number, a list or a NumPy, PyTorch or JAX array; got {validation.shown(value)}. "
            "Convert it first."
        )
    array = _even(name, value)
    if isinstance(value, list | tuple) and array.dtype.kind in "iuf" and _holds_truth(value):
        raise TypeError(
            f"{name} must hold numbers; got True or False among them in {validation.shown(value)}. Give integers or "
            "floats."
        )
    if array.size == 0 and not isinstance(value, np.ndarray):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iuf":
        raise TypeError(
            f"{name} must hold numbers; got {array.dtype} in {validation.shown(value)}. Give integers or floats."
        )
    if like is None or (isinstance(value, (np.ndarray, np.generic)) and _keeps_numpy(like)):
        return array
    lib = library(like)
    validation.size(name, array.size, array.itemsize)  # a view of one number would be copied whole
    if not lib.float64:
        _fits_32_bits(name, array)
    return lib.constant(array)


def _fits_32_bits(name: str, array: np.ndarray) -> None:
    """Refuse whole numbers that int32 or float32 would change, in a library without 64-bit numbers."""
    if not array.size:
        return
    if array.dtype.kind in "iu" and max(-int(array.min()), int(array.max())) >= 2**31:
        raise ValueError(
            f"{name} must be below 2^31 where there are no 64-bit numbers; got values from {array.min()} to "
            f"{array.max()}. Enable 64-bit numbers (jax_enable_x64)."
        )
    with np.errstate(over="ignore"):
        changed = array[(array == np.trunc(array)) & (array.astype(np.float32) != array)]
    if array.dtype.kind == "f" and changed.size:
        raise ValueError(
            f"{name} must be integers, or float32 numbers, where there are no 64-bit numbers; got {changed.flat[0]}, "
            "which float32 does not hold. Give integers, or enable 64-bit numbers (jax_enable_x64)."
        )


def _keeps_numpy(like: Array | Library | None) -> bool:
    """Whether a NumPy array beside `like` stays one: JAX converts it; a mixture with PyTorch is refused later."""
    return like is None or library(like).name != "jax"


def whole_array(name: str, value: Array) -> Array:
    """Return a dense array as it is; refuse masked, sparse, nested and distributed ones.

    Raises:
        TypeError: `value` is no dense array.
    """
    what, advice = "", "Convert it first."
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if value.is_nested or value.layout is not torch.strided:
            what = "a nested tensor" if value.is_nested else f"a tensor of layout {value.layout}"
        elif type(value) is not torch.Tensor and hasattr(value, "to_local"):
            what = "a DTensor, whose numbers lie on several devices"
            advice = f"Give its own part on each device, {name}.to_local(), and the positions of that part."
            if name.startswith("params"):  # of a module that was divided, and is called by itself
                advice = "Call it within the forward pass of the model that fully_shard divided, or give full_tensor()."
    elif isinstance(value, np.ma.MaskedArray):
        what = "a masked array, whose mask would be lost"
    elif isinstance(value, np.matrix):
        what = "a numpy.matrix, whose * is another product"
    if what:
        raise TypeError(f"{name} must be a dense array; got {what}. {advice}")
    return value


def _even(name: str, value: Any) -> np.ndarray:
    """Convert a number, an array or nested lists to a NumPy array; ValueError for ragged lists."""
    if isinstance(value, range):  # of which at least eight numbers each will be made
        validation.size(name, (value.stop - value.start) // value.step, 8 * 8)
        return np.arange(value.start, value.stop, value.step)
    for part in value if isinstance(value, list | tuple) else (value,):
        if isinstance(part, np.ndarray):
            whole_array(name, part)
    try:
        return np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must be a number, an array or an even nest of lists; got {validation.shown(value)}. "
            f"Make every row the same length ({error})."
        ) from None


def numbers_on_host(name: str, value: Any) -> np.ndarray:
    """Numbers of an argument, of any library, as a NumPy array; bfloat16 as float32.

    Example:
        >>> numbers_on_host("positions", range(3)).tolist()
        [0, 1, 2]
    """
    array = as_array(name, value)
    validation.rank(name, array)
    if kind(array) == "other":
        raise TypeError(f"{name} must hold integers or floats; got {dtype_name(array.dtype)}. Convert it.")
    if library(array).concrete(array):
        validation.size(name, math.prod(array.shape))
    return to_numpy(library(array).wide(array) if dtype_name(array.dtype) == "bfloat16" else array)


def _holds_truth(value: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a nest of lists holds True or False, which NumPy takes for 1 and 0 among numbers."""
    kinds = set(map(type, value))
    return bool in kinds or (
        not kinds.isdisjoint((list, tuple)) and any(_holds_truth(part) for part in value if type(part) in (list, tuple))
    )


def as_arrays(*, like: Array | None = None, **values: Any) -> list[Array]:
    """Convert several arguments to arrays of one library.

    Args:
        like: Array that numbers and lists follow where no argument is an array.
        **values: The arguments, by name.

    Returns:
        An array for each argument, in order.
    """
    for value in values.values():
        if library_name(value) is not None:
            like = value
            break
    return [as_array(name, value, like) for name, value in values.items()]


def as_mask(name: str, value: Any, like: Array | None = None) -> Array:
    """Convert truth values to an array: booleans as they are, 0 and 1 compared with zero.

    Args:
        name: Name of the argument, for messages.
        value: An array or a (nested) list of truth values, or of 0 and 1.
        like: Array that lists and NumPy arrays follow; None for NumPy.

    Returns:
        Boolean array of the same shape.

    Raises:
        TypeError: `value` is neither an array nor a list.
        ValueError: `value` holds other numbers than 0 and 1.
    """
    if isinstance(value, list | tuple):
        even = _even(name, value)
        if even.dtype.kind not in "biuf":
            raise TypeError(f"{name} must hold truth values; got {validation.shown(value)}. Give true or false.")
        value = even
    if library_name(value) is None:
        raise TypeError(f"{name} must be an array of truth values; got {validation.shown(value)}. Give true or false.")
    validation.rank(name, whole_array(name, value))
    if library(value).concrete(value):
        validation.size(name, math.prod(value.shape))
    if kind(value) == "other" and dtype_name(value.dtype) != "bool":
        raise TypeError(
            f"{name} must hold truth values, or 0 and 1; got {dtype_name(value.dtype)}. Compare it with something "
            "first."
        )
    if like is not None and library_name(value) == "numpy":
        value = library(like).constant(value)
    if dtype_name(value.dtype) == "bool":
        return value
    if library_name(value) == "torch" and dtype_name(value.dtype) in ("uint16", "uint32", "uint64"):
        value = library(value).signed(value)  # PyTorch stores these and compares none of them
    ends = library(value).extremes(value)
    if ends is not None and not (ends[0] >= 0 and ends[1] <= 1 and bool(((value == 0) | (value == 1)).all())):
        raise ValueError(
            f"{name} must hold 0 and 1, or false and true; got values from {ends[0]} to {ends[1]}. "
            "Compare it with something first."
        )
    return value != 0


def floats(name: str, value: Any) -> Array:
    """Return an array of floats of any of the libraries as it is.

    Raises:
        TypeError: `value` is no dense array of floats.
    """
    if type(value) is not np.ndarray and library_name(value) is None:
        raise TypeError(f"{name} must be an array of floats; got {validation.shown(value)}. Convert it first.")
    if kind(value) not in ("float", "narrow"):
        raise TypeError(f"{name} must hold floats; got {dtype_name(value.dtype)}. Convert it.")
    return value if type(value) is np.ndarray else whole_array(name, value)
