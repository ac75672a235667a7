"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .array_arguments import as_array as as_array
from .array_arguments import as_arrays as as_arrays
from .array_arguments import as_mask as as_mask
from .array_arguments import floats as floats
from .array_arguments import numbers_on_host as numbers_on_host
from .array_arguments import whole_array as whole_array
from .array_library import Array as Array
from .array_library import Library as Library
from .array_library import dtype_name as dtype_name
from .array_library import host as host
from .array_library import kind as kind
from .array_library import remembered as remembered
from .jax_library import broadcasting as broadcasting
from .resolve import library as library
from .resolve import library_name as library_name
from .resolve import to_numpy as to_numpy
