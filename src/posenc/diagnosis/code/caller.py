"""One way to call a user's function, and its results as numbers on the host."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.diagnosis.code.parameter_roles import Call
from posenc.diagnosis.named_arrays import NamedArray, on_host

Function = Callable[..., Any]


class UnsupportedFormError(Exception):
    """This form does not fit the function; the message says what came back."""


@dataclass(frozen=True, eq=False)
class Caller:
    """A function with one way to call it, and the library whose arrays it gets."""

    function: Function
    call: Call
    library: str
    dim: int
    base: float

    def __call__(self, **values: Any) -> NamedArray:
        """The numbers that come back; of two results the first."""
        return self.results(**values)[0]

    def results(self, **values: Any) -> list[NamedArray]:
        """Each result: two where queries and keys are given, else one."""
        arrays = {
            role: self._array(value) if isinstance(value, np.ndarray) else value for role, value in values.items()
        }
        result = self.call.invoke(self.function, {"dim": self.dim, "base": self.base, **arrays})
        results = result if isinstance(result, tuple) else (result,)
        if len(results) != (2 if "k" in self.call.form else 1):
            raise UnsupportedFormError(
                f"it returned {len(results)} results. Return the table, or the vectors with their positions in them"
            )
        return [_numbers(each) for each in results]

    def _array(self, value: np.ndarray) -> Any:
        is_float = value.dtype.kind == "f"
        if self.library == "numpy":
            return value.astype(np.float64) if is_float else value
        torch = sys.modules["torch"]
        return torch.tensor(value, dtype=torch.float32 if is_float else torch.int64)


def _numbers(result: Any) -> NamedArray:
    array, dtype = on_host(result)
    if array.dtype.kind not in "iuf":
        raise UnsupportedFormError(f"it returned {array.dtype} values. Return real numbers")
    return NamedArray(array.astype(np.float64), dtype if array.dtype.kind == "f" else "float64")
