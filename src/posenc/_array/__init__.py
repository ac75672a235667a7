"""The only place that knows how NumPy, PyTorch and JAX differ; it contains no mathematics of positions.

`library(*arrays)` resolves the library of a call, once; what the libraries spell differently are methods of the result.
No library is imported here: one that has handed in an array is already in `sys.modules`. (The idea is that of einops'
backends.) NumPy alone is a dependency.
"""

from posenc._array.array_arguments import as_array, as_arrays, as_mask, floats, whole_array
from posenc._array.library import Array, Library, dtype_name, host, kind
from posenc._array.rank_promotion import broadcasting
from posenc._array.resolve import library, library_name, to_numpy

__all__ = [
    "Array",
    "Library",
    "as_array",
    "as_arrays",
    "as_mask",
    "broadcasting",
    "dtype_name",
    "floats",
    "host",
    "kind",
    "library",
    "library_name",
    "to_numpy",
    "whole_array",
]
