"""Which library an array belongs to, and what that library can do there."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from posenc import _check

#: A NumPy array, a PyTorch tensor or a JAX array.
Array: TypeAlias = Any

Host = TypeVar("Host")


def library(array: Array) -> str:
    """`"numpy"`, `"torch"` or `"jax"`."""
    name = library_or_none(array)
    if name is None:
        raise TypeError(f"array must be a NumPy, PyTorch or JAX array; got {_check.shown(array)}. Convert it first.")
    return name


def library_or_none(value: Any) -> str | None:
    """As above, and None for what no library made."""
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


def has_float64(array: Array) -> bool:
    """Whether 64-bit numbers exist where the array lives."""
    which = library(array)
    if which == "jax":
        return bool(sys.modules["jax"].config.jax_enable_x64)
    return which == "numpy" or array.device.type != "mps"


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


def detach(array: Array) -> Array:
    """The same numbers, of which no derivative is taken."""
    which = library(array)
    if which == "torch":
        return array.detach()
    return sys.modules["jax"].lax.stop_gradient(array) if which == "jax" else array


def full_precision(like: Array) -> AbstractContextManager[Any]:
    """Where PyTorch's autocast does not turn products into 16 bits; nothing in the other libraries."""
    if library(like) != "torch":
        return nullcontext()
    torch = sys.modules["torch"]
    kind = like.device.type
    return torch.autocast(kind, enabled=False) if torch.amp.is_autocast_available(kind) else nullcontext()


def to_numpy(array: Array) -> np.ndarray:
    """The values on the host."""
    if library(array) == "torch":
        return np.asarray(array.detach().cpu())
    return np.asarray(array)


def host(function: Host) -> Host:
    """Mark a pure function of records that is computed on the host, once, and enters a traced program as a constant.

    torch.compile reads this attribute (it is what `torch.compiler.assume_constant_result` sets), so that no tracer
    walks into decimal arithmetic; without torch it does nothing. Give records and plain numbers only, no arrays.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function
