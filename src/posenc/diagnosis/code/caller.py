"""One way to call what a student wrote, and its results as numbers on the host."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc import _array
from posenc.diagnosis.code.parameter_roles import Call
from posenc.diagnosis.code.recipe_changes import Observed
from posenc.diagnosis.code.table_diagnosis import Finding

#: Near ones one by one, then those around which tables end and narrow types lose whole numbers, then far ones.
PLACES = (*range(41), 50, 63, 64, 65, 99, 100, 127, 128, 129, 199, 200, 255, 256, 257, 259, 300, 499, 500, 511, 512, 513,
          999, 1000, 1023, 1024, 1025, 1999, 2000, 2047, 2048, 2049, 2051, 2052, 2999, 4095, 4097, 4999, 5000, 8191, 8193, 65_537, 100_003)  # fmt: skip
#: How far to ask, the farthest first: a table may end earlier.
REACHES = (1_000_000, 3_000, 600, 128, 32)

Function = Callable[..., Any]


class UnfitError(Exception):
    """This form does not fit what was written; the message says what came back."""


@dataclass(frozen=True, eq=False)
class Probe:
    """The numbers, in which form they were had, and what was noticed on the way."""

    observed: Observed
    form: str
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    layout: str = ""


@dataclass(frozen=True, eq=False)
class Caller:
    """A function with one way to call it, and the library whose arrays it gets."""

    function: Function
    call: Call
    library: str
    dim: int
    base: float

    def __call__(self, **values: Any) -> np.ndarray:
        """The numbers that come back, in their own type where NumPy has it."""
        return self.both(**values)[0]

    def both(self, **values: Any) -> list[np.ndarray]:
        """As above, each of several results."""
        arrays = {role: self._made(value) if isinstance(value, np.ndarray) else value for role, value in values.items()}
        result = self.call.invoke(self.function, {"dim": self.dim, "base": self.base, **arrays})
        several = result if isinstance(result, tuple) else (result,)
        if len(several) != (2 if "k" in self.call.form else 1):
            raise UnfitError(
                f"it returned {len(several)} results. Return the table, or the vectors with their positions in them"
            )
        return [numbers(each) for each in several]

    def _made(self, value: np.ndarray) -> Any:
        if self.library == "numpy":
            return value.astype(np.float64) if value.dtype.kind == "f" else value
        torch = sys.modules["torch"]
        return torch.tensor(value, dtype=torch.float32 if value.dtype.kind == "f" else torch.int64)


def numbers(value: Any) -> np.ndarray:
    """A result on the host. bfloat16, which NumPy has not, comes back as float32 and is told apart by `dtype_of`."""
    if type(value).__module__.partition(".")[0] == "torch":
        value = value.detach().cpu()
        if _array.dtype_name(value.dtype) == "bfloat16":
            value = value.float().numpy()
            return np.asarray(value).view(_Narrow)
        value = value.numpy()
    array = np.asarray(value)
    if array.dtype.name == "bfloat16":
        return array.astype(np.float32).view(_Narrow)
    if array.dtype.kind not in "iuf":
        raise UnfitError(f"it returned {array.dtype} values. Return real numbers")
    return array


class _Narrow(np.ndarray):
    """float32 numbers that were bfloat16."""


def dtype_of(array: np.ndarray) -> str:
    """The type the numbers came in."""
    if isinstance(array, _Narrow):
        return "bfloat16"
    return array.dtype.name if array.dtype.kind == "f" else "float64"
