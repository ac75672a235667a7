"""`Library`, the array library of a call: resolved once and passed to inner functions; NumPy's implementation."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from posenc.core import validation

#: A NumPy array, a PyTorch tensor or a JAX array.
Array: TypeAlias = Any

Host = TypeVar("Host")

#: What results may be rounded to, where the library has it (NumPy has no bfloat16), and the bytes of each.
SIZES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


class Library:
    """Array library of one call: its functions, its widest numbers, and operations that libraries spell differently.

    The methods here are NumPy's spelling; the other libraries override those that they spell in their own way.

    Attributes:
        name: "numpy", "torch" or "jax".
        xp: Module whose functions act on its arrays.
        float64: Whether float64 exists where the arrays of this call live.
        integer: Widest signed integer.
        real: Widest float.
        default: Float of results whose dtype nobody asked for.
    """

    #: "numpy", "torch" or "jax".
    name: str
    #: The module whose functions act on its arrays.
    xp: Any
    #: Whether float64 exists where the arrays of this call live.
    float64: bool
    #: The widest signed integer, the widest float, and the float of results whose dtype nobody asked for.
    integer: Any
    real: Any
    default: Any
    #: What makes cosines and sines of learned frequencies in one step, of coordinates (*batch, n, axes) and frequencies
    #: (axes, pairs), where a compiled program should not see the steps; see `posenc.torch.modules.learned_operator`.
    cos_sin_of_learned: Callable[[Array, Array], tuple[Array, Array]] | None = None

    def constant(self, values: Any, dtype: Any = None) -> Array:
        """Array of host numbers on the device of this call."""
        return self.xp.asarray(np.asarray(values), dtype=dtype)

    def arange(self, count: int) -> Array:
        """Integers 0 … count-1 on the device of this call."""
        return self.xp.arange(count)

    def astype(self, array: Array, dtype: Any) -> Array:
        """Array in another dtype; the array itself where it has that dtype."""
        return array.astype(dtype)

    def scaled(self, integers: Array, factor: float) -> Array:
        """Integers times a factor, in the widest float."""
        return integers.astype(self.real) * factor

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Uninitialised array to be written into; JAX has none."""
        return self.xp.empty(shape, dtype)

    def pieces(self, array: Array, size: int) -> Sequence[Array]:
        """Split the last axis into consecutive parts of `size`; keep it whole where its length may be symbolic."""
        count = array.shape[-1]
        if not isinstance(count, int):  # a symbol of jax.export
            return [array]
        return [array[..., start : start + size] for start in range(0, max(count, 1), size)]

    def concrete(self, array: Array) -> bool:
        """Whether the values can be read now: not while tracing, nor of PyTorch tensors on an accelerator."""
        return True

    def check_size(self, name: str, count: int, dtype: Any, *arrays: Array) -> None:
        """Refuse a result of `count` numbers that is too large to be intended, before it is allocated.

        Skipped unless all `arrays` are `concrete`; an accelerator reports its own lack of memory.
        """
        if all(map(self.concrete, arrays)):
            validation.size(name, count, SIZES[dtype_name(dtype)])

    def extremes(self, array: Array) -> tuple[Any, Any] | None:
        """Least and greatest value as Python numbers; None for no values, or values that cannot be read."""
        if 0 in array.shape or not self.concrete(array):
            return None
        least, greatest = array.min(), array.max()  # which jax.jit traces even of an array that it was handed whole
        readable = type(least) is type(array) or self.concrete(least)
        return (least.item(), greatest.item()) if readable else None

    def detach(self, array: Array) -> Array:
        """Array without its derivative."""
        return array

    def compiling(self) -> bool:
        """Whether PyTorch is compiling or exporting, so that a length may be a symbol.

        JAX's lengths are numbers, but for those of `jax.export`, which are no `int`.
        """
        return False

    def full_precision(self) -> AbstractContextManager[Any]:
        """Context in which PyTorch's autocast does not turn products into 16 bits; nothing in the other libraries."""
        return nullcontext()

    def clamped(self, array: Array, least: float | None, most: float | None = None) -> Array:
        """Clip an array to bounds; a number exactly at a bound has derivative 1."""
        return self.xp.clip(array, least, most)

    def rectified(self, x: Array, leak: float) -> Array:
        """Leaky ReLU of x: x, or leak·x below zero. PyTorch computes it in place, so nothing else may read x."""
        return self.xp.where(x > 0, x, leak * x)

    def take_along(self, array: Array, index: Array, axis: int = -1) -> Array:
        """Pick array[..., index[..., j]] for every j, along the last axis or another."""
        return self.xp.take_along_axis(array, index, axis)

    def paired(self, first: Array, second: Array) -> Array:
        """Two arrays of one shape side by side on a new last axis."""
        return self.xp.concatenate([first[..., None], second[..., None]], -1)

    def entries(self, table: Array, row: Array, head: Array) -> Array:
        """Pick table[row, head]; the indices `row` and `head` broadcast against each other."""
        return table[row, head]

    def sum_along(self, array: Array, index: Array, count: int) -> Array:
        """Sum the numbers of the last axis that share an index, (..., m), (..., m) to (..., count)."""
        rows, width = math.prod(array.shape[:-1]), array.shape[-1]
        cells = (self.xp.arange(rows)[:, None], index.reshape((rows, width)))
        total = self._added(self.xp.zeros((rows, count), array.dtype), cells, array.reshape((rows, width)))
        return total.reshape((*array.shape[:-1], count))

    def _added(self, total: Array, cells: tuple[Array, Array], numbers: Array) -> Array:
        """Add each number to `total` at its (row, column) in `cells`, repeats included (scatter-add)."""
        np.add.at(total, cells, numbers)
        return total

    def order(self, array: Array) -> Array:
        """Indices that sort the last axis; equal numbers keep their order."""
        return self.xp.argsort(array, -1, stable=True)

    def sigmoid(self, x: Array) -> Array:
        """1 / (1 + e^-x), which does not overflow."""
        return (self.xp.tanh(x / 2) + 1) / 2

    def log_sigmoid(self, x: Array) -> Array:
        """Compute ln σ(x), which neither overflows nor loses its small values."""
        size = self.xp.abs(x)
        return (x - size) / 2 - self.xp.log1p(self.xp.exp(-size))

    def product(self, left: Array, right: Array) -> Array:
        """Compute left @ right in the full precision of their dtype, also under autocast."""
        with self.full_precision():
            return left @ right

    def contracted(self, left: Array, right: Array) -> Array:
        """Compute Σ_w left[..., w]·right[..., w], the other axes broadcast, without holding the product of all axes."""
        with self.full_precision():
            return self.xp.einsum("...w,...w->...", left, right)

    def times_power_of_two(self, array: Array, power: Array) -> Array:
        """Multiply an array by 2^power, where the powers are whole numbers and 2^power is exact."""
        return self.xp.ldexp(array, power.astype(np.int32))

    def rows(self, table: Array, index: Array, dtype: Any) -> Array:
        """Rows of a table, cast to `dtype`; gradients of repeated rows are summed in `dtype`, then cast back."""
        return self.astype(table[index], dtype)

    def rows_of_heads(self, table: Array, index: Array) -> Array:
        """Rows of each head's table, (heads, rows, width) and (n,) to (heads, n, width)."""
        return table[:, index]

    def picked(self, table: Array, row: Array) -> Array:
        """Pick table[row] by scalar indices, since flex_attention passes no gradient to a row picked as a whole."""
        column = self.arange(table.shape[1])
        return table[row[..., None] + 0 * column, column]

    def dtype(self, name: str) -> Any:
        """Dtype of this library by its name."""
        return getattr(self.xp, name)

    def result_dtype(self, dtype: Any) -> Any:
        """Dtype of a result.

        None means float64 in NumPy and float32 in PyTorch and JAX, whatever their global defaults say.

        Raises:
            TypeError: `dtype` is no float, or the device has none such.
        """
        if dtype is None or dtype is self.default:
            return self.default
        try:  # NumPy takes an array for its dtype
            name = "" if hasattr(dtype, "shape") and not isinstance(dtype, type | np.dtype) else dtype_name(dtype)
        except (TypeError, ValueError):
            name = ""
        if name not in SIZES or not hasattr(self.xp, name):
            raise TypeError(
                f"dtype must be a floating dtype; got {validation.shown(dtype)}. Give float32 or float64, say."
            )
        if name == "float64" and not self.float64:
            raise TypeError(
                "dtype must be one that the device supports; got float64. Enable 64-bit floats, or ask for float32."
            )
        return self.dtype(name)

    def wide_dtype(self, dtype: Any) -> Any:
        """Dtype to compute in for a result of this dtype: itself, or float32 for one of 16 bits."""
        return dtype if dtype in (self.xp.float32, self.xp.float64) else self.xp.float32

    def wide(self, array: Array) -> Array:
        """Array in float32 at least: angles, distances and products are never formed in a 16-bit type."""
        return self.astype(array, self.wide_dtype(array.dtype))

    def widest(self, array: Array) -> Array:
        """Array as float64 where there is one, else as float32."""
        return self.astype(array, self.real)

    def signed(self, array: Array) -> Array:
        """Integers as the widest signed type, so that differences do not wrap; floats as the widest float."""
        return self.astype(array, self.integer if kind(array) == "integer" else self.real)


def dtype_name(dtype: Any) -> str:
    """Name of a dtype of any library, such as `"float32"`."""
    name = str(dtype)
    return name.removeprefix("torch.") if name.startswith("torch.") else str(np.dtype(dtype))


#: The kinds of the usual dtypes, of NumPy and of PyTorch by their own names.
_NAMED = {f"{sign}int{bits}": "integer" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_NAMED |= {"float32": "float", "float64": "float", "float16": "narrow", "bfloat16": "narrow"}
_KINDS = {np.dtype(name): kind for name, kind in _NAMED.items() if name != "bfloat16"}
_KINDS_OF_TORCH = {f"torch.{name}": kind for name, kind in _NAMED.items()}


def kind(array: Array) -> str:
    """Classify the dtype of an array.

    Returns:
        `"integer"`, `"float"`, `"narrow"` (a float of 16 bits) or `"other"`.
    """
    dtype = array.dtype
    known = _KINDS.get(dtype) if isinstance(dtype, np.dtype) else _KINDS_OF_TORCH.get(str(dtype))
    if known is not None:
        return known
    return _NAMED.get(dtype_name(dtype), "other")


def host(function: Host) -> Host:
    """Mark a pure function of encodings to run on the host, so that a compiled program stores its result as a constant.

    torch.compile reads this attribute (it is what `torch.compiler.assume_constant_result` sets), so that no tracer
    walks into decimal arithmetic; without torch it does nothing. Give encodings and plain numbers only, no arrays.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


class NumPy(Library):
    """NumPy's functions and dtypes."""

    name = "numpy"
    xp = np
    float64 = True
    integer = np.int64
    real = default = np.float64

    def astype(self, array: Array, dtype: Any) -> Array:
        if array.dtype == dtype:
            return array
        if dtype in (np.float64, np.int64):  # which hold whatever is converted to them
            return array.astype(dtype)
        with np.errstate(over="ignore"):  # infinity is the rounded value of what fewer bits do not hold
            return array.astype(dtype)

    def order(self, array: Array) -> Array:
        return np.argsort(array, -1, kind="stable")

    scaled = staticmethod(operator.mul)  # type: ignore[assignment]  # in one pass, and without a Python call

    def extremes(self, array: Array) -> tuple[Any, Any] | None:
        if array.size <= 1:
            return (array.item(), array.item()) if array.size else None
        if 0 in array.strides:
            array = each_once(array, array.strides)
        return np.minimum.reduce(array, None).item(), np.maximum.reduce(array, None).item()


def each_once(array: Array, strides: tuple[int, ...]) -> Array:
    """Drop the repeats of a broadcast view: axes of stride 0 keep index 0 alone.

    Example:
        >>> view = np.broadcast_to(np.arange(3), (10**10, 3))
        >>> each_once(view, view.strides).tolist()
        [[0, 1, 2]]
    """
    return array[tuple(slice(None) if stride else slice(0, 1) for stride in strides)]


NUMPY = NumPy()


P = ParamSpec("P")


def remembered(count: int) -> Callable[[Callable[P, np.ndarray]], Callable[P, np.ndarray]]:
    """Mark a function as `host`, and remember its last `count` arrays by all its arguments; a call returns a copy.

    Example:
        >>> @remembered(8)
        ... def squares(count: int) -> np.ndarray:
        ...     return np.arange(count) ** 2
        >>> squares(3)[:] = 7
        >>> squares(3)
        array([0, 1, 4])
    """

    def of(function: Callable[P, np.ndarray]) -> Callable[P, np.ndarray]:
        memo: Any = lru_cache(count)(function)

        @wraps(function)
        def copied(*arguments: P.args, **named: P.kwargs) -> np.ndarray:
            array: np.ndarray = memo(*arguments, **named)
            return array.copy()

        return host(copied)

    return of
