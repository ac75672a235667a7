"""Differences between NumPy, PyTorch and JAX, and nothing else; no mathematics of positions is here.

`library(*arrays)` resolves the library of a call, once; operations that the libraries spell differently are methods of
the result. No library is imported here: one that has handed in an array is already in `sys.modules`. (The idea is that
of einops' backends.) NumPy alone is a dependency.
"""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
