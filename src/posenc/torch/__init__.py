"""PyTorch: modules that hold an encoding and its parameters, and fast functions; no encoding is defined here.

A module has no buffers: whatever does not learn is recomputed from the encoding, exactly, so no cast, no meta device
and no checkpoint can lose it.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "posenc.torch needs PyTorch, which is not installed. Run: pip install torch", name="torch"
    ) from None

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
