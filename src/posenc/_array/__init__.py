"""The only place that knows that NumPy, PyTorch and JAX are different libraries.

No library is imported here: one that has handed in an array is already in `sys.modules`. (The idea is that of
einops' backends.) NumPy alone is a dependency.
"""

from posenc._array.arguments import arange, as_array, as_arrays, as_mask, constant, floats, of_content
from posenc._array.dtypes import (
    astype,
    dtype_name,
    dtype_of,
    kind,
    result_dtype,
    signed,
    wide,
    wide_dtype,
    widest,
    widest_dtype,
)
from posenc._array.indexing import contracted, picked, product, sum_along, take_along, times_power_of_two
from posenc._array.libraries import (
    Array,
    concrete,
    detach,
    extremes,
    full_precision,
    has_float64,
    host,
    library,
    module,
    namespace,
    to_numpy,
    tracing,
)

__all__ = [
    "Array",
    "arange",
    "as_array",
    "as_arrays",
    "as_mask",
    "astype",
    "concrete",
    "constant",
    "contracted",
    "detach",
    "dtype_name",
    "dtype_of",
    "extremes",
    "floats",
    "full_precision",
    "has_float64",
    "host",
    "kind",
    "library",
    "module",
    "namespace",
    "of_content",
    "picked",
    "product",
    "result_dtype",
    "signed",
    "sum_along",
    "take_along",
    "times_power_of_two",
    "to_numpy",
    "tracing",
    "wide",
    "wide_dtype",
    "widest",
    "widest_dtype",
]
