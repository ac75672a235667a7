"""The only file that knows that NumPy, PyTorch and JAX are different libraries.

No library is imported here: one that has handed in an array is already in `sys.modules`. (The idea is that of
einops' backends.) NumPy alone is a dependency.
"""

from __future__ import annotations

import math
import sys
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from posenc import _check

#: A NumPy array, a PyTorch tensor or a JAX array.
Array: TypeAlias = Any

Host = TypeVar("Host")


def library(array: Array) -> str:
    """`"numpy"`, `"torch"` or `"jax"`."""
    name = _library(array)
    if name is None:
        raise TypeError(f"array must be a NumPy, PyTorch or JAX array; got {_check.shown(array)}. Convert it first.")
    return name


def _library(value: Any) -> str | None:
    if isinstance(value, (np.ndarray, np.generic)):
        return "numpy"
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return "torch"
    jax = sys.modules.get("jax")
    return "jax" if jax is not None and isinstance(value, jax.Array) else None


def namespace(*arrays: Array) -> Any:
    """The module whose functions act on these arrays; they must all come from one library."""
    names = [library(array) for array in arrays]
    for name in names:
        if name != names[0]:
            raise TypeError(
                f"arrays must come from one library; got {names[0]} and {name}. Convert one of them to the other's."
            )
    return module(names[0])


def module(name: str) -> ModuleType:
    """The namespace of a library that is already loaded."""
    return np if name == "numpy" else sys.modules["jax.numpy" if name == "jax" else "torch"]


def as_array(name: str, value: Any, like: Array | None = None) -> Array:
    """An array as it is; a number or a (nested) list of numbers as an array beside `like`, or in NumPy."""
    if _library(value) in ("torch", "jax"):
        return value
    if not isinstance(value, (np.ndarray, np.generic, int, float, list, tuple, range)):
        raise TypeError(
            f"{name} must be a number, a list or a NumPy, PyTorch or JAX array; got {_check.shown(value)}. Convert it first."
        )
    array = _even(name, value)
    if array.size == 0 and not isinstance(value, np.ndarray):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iuf":
        raise TypeError(
            f"{name} must hold numbers; got {array.dtype} in {_check.shown(value)}. Give integers or floats."
        )
    if like is None or isinstance(value, (np.ndarray, np.generic)):
        return array
    if array.dtype.kind in "iu" and array.size and not has_float64(like) and np.abs(array).max() >= 2**31:
        raise ValueError(
            f"{name} must be below 2^31 where there are no 64-bit numbers; got {_check.shown(value)}. Enable them."
        )
    return constant(array, like)


def _even(name: str, value: Any) -> np.ndarray:
    """A number or an even nest of lists as a NumPy array."""
    try:
        return np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must be a number, an array or an even nest of lists; got {_check.shown(value)}. "
            f"Make every row the same length ({error})."
        ) from None


def as_mask(name: str, value: Any, like: Array | None = None) -> Array:
    """Truth values as an array: booleans as they are, 0 and 1 compared with zero, anything else refused."""
    if isinstance(value, list | tuple):
        value = _even(name, value) if like is None else constant(_even(name, value), like)
    if _library(value) is None:
        raise TypeError(f"{name} must be an array of truth values; got {_check.shown(value)}. Give true or false.")
    if dtype_name(value.dtype) == "bool":
        return value
    ends = extremes(value)
    if ends is not None and not set(to_numpy(value).ravel().tolist()) <= {0, 1}:
        raise ValueError(
            f"{name} must hold 0 and 1, or false and true; got values from {ends[0]} to {ends[1]}. Compare it with something first."
        )
    return value != 0


def floats(name: str, value: Any) -> Array:
    """Content as it is, if it is an array of floats of one of the libraries."""
    if _library(value) is None:
        raise TypeError(f"{name} must be an array of floats; got {_check.shown(value)}. Convert it first.")
    if kind(value) not in ("float", "narrow"):
        raise TypeError(f"{name} must hold floats; got {dtype_name(value.dtype)}. Convert it.")
    return value


def as_arrays(*, like: Array | None = None, **values: Any) -> list[Array]:
    """Several arguments as arrays of one library: numbers and lists follow the arrays among them, then `like`."""
    for value in values.values():
        if _library(value) is not None:
            like = value
            break
    return [as_array(name, value, like) for name, value in values.items()]


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
    if "float" not in name:
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


def constant(values: Any, like: Array, dtype: Any = None) -> Array:
    """Host numbers as an array beside `like`: its library and its device."""
    xp, values = namespace(like), np.asarray(values)
    if library(like) == "torch":
        return xp.as_tensor(values, dtype=dtype, device=like.device)
    return xp.asarray(values, dtype=dtype)


def arange(count: int, like: Array) -> Array:
    """0 … count-1 as integers beside `like`."""
    if library(like) == "torch":
        return namespace(like).arange(count, device=like.device)
    return namespace(like).arange(count)


def has_float64(array: Array) -> bool:
    """Whether 64-bit numbers exist where the array lives."""
    which = library(array)
    if which == "jax":
        return bool(sys.modules["jax"].config.jax_enable_x64)
    return which == "numpy" or array.device.type != "mps"


def detach(array: Array) -> Array:
    """The same numbers, of which no derivative is taken."""
    which = library(array)
    if which == "torch":
        return array.detach()
    return sys.modules["jax"].lax.stop_gradient(array) if which == "jax" else array


def tracing(array: Array) -> bool:
    """Whether PyTorch is compiling or exporting, so that a length may be a symbol; JAX's lengths are always numbers."""
    return library(array) == "torch" and bool(sys.modules["torch"].compiler.is_compiling())


def concrete(array: Array) -> bool:
    """Whether the values can be looked at now, at no cost: not while tracing, not on an accelerator."""
    which = library(array)
    if which == "jax":
        return not isinstance(array, sys.modules["jax"].core.Tracer)
    if which == "numpy":
        return True
    torch: Any = sys.modules["torch"]
    if torch.compiler.is_compiling() or array.device.type != "cpu":
        return False
    return type(array) in (torch.Tensor, torch.nn.Parameter) and not torch._C._functorch.is_functorch_wrapped_tensor(
        array
    )


def extremes(array: Array) -> tuple[Any, Any] | None:
    """The least and the greatest value as Python numbers; None where there are none, or none to be seen."""
    if not concrete(array) or 0 in array.shape:
        return None
    least, greatest = array.min(), array.max()
    return (least.item(), greatest.item()) if concrete(least) else None  # jit traces even what it was handed whole


def times_power_of_two(array: Array, power: Array) -> Array:
    """array · 2^power for whole powers, with nothing lost in the power."""
    xp = namespace(array, power)
    if library(array) == "torch":
        return array * xp.exp2(power)
    return xp.ldexp(array, power.astype(np.int32))


def take_along(array: Array, index: Array) -> Array:
    """array[..., index[..., j]] for every j: index has the leading axes of array and picks along the last one."""
    xp = namespace(array, index)
    if library(array) == "torch":  # take_along_dim fixes lengths while exporting; gather leaves them free
        return xp.gather(array, -1, index)
    return xp.take_along_axis(array, index, -1)


def sum_along(array: Array, index: Array, count: int) -> Array:
    """The inverse: numbers of the last axis that share an index are added; shapes (..., m), (..., m) to (..., count)."""
    xp = namespace(array, index)
    if library(array) == "torch":
        return xp.zeros((*array.shape[:-1], count), dtype=array.dtype, device=array.device).scatter_add(
            -1, index, array
        )
    rows, places = math.prod(array.shape[:-1]), array.shape[-1]
    where = (xp.arange(rows)[:, None], index.reshape((rows, places)))
    total, numbers = xp.zeros((rows, count), array.dtype), array.reshape((rows, places))
    if library(array) == "jax":
        total = total.at[where].add(numbers)
    else:
        np.add.at(total, where, numbers)
    return total.reshape((*array.shape[:-1], count))


def picked(table: Array, row: Array) -> Array:
    """table[row], a number at a time: the gradient of flex_attention reaches no row that is picked whole."""
    column = arange(table.shape[1], table)
    return table[row[..., None] + 0 * column, column]


def contracted(left: Array, right: Array) -> Array:
    """Σ_w left[..., w]·right[..., w], the other axes broadcast, without holding the product of all axes."""
    xp = namespace(left, right)
    if library(left) == "jax":  # whose accelerators else round the factors
        return xp.einsum("...w,...w->...", left, right, precision="highest")
    return xp.einsum("...w,...w->...", left, right)


def host(function: Host) -> Host:
    """Mark a pure function of records that is computed on the host, once, and enters a traced program as a constant.

    torch.compile reads this attribute (it is what `torch.compiler.assume_constant_result` sets), so that no tracer
    walks into decimal arithmetic; without torch it does nothing. Give records and plain numbers only, no arrays.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


def to_numpy(array: Array) -> np.ndarray:
    """The values on the host."""
    if library(array) == "torch":
        return np.asarray(array.detach().cpu())
    return np.asarray(array)
