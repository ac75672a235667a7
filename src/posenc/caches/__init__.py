"""Key-value caches for decoding, fingerprinted by their rotation: rerotated, paged, quantised, of pinned length.

A cached key is content that was rotated to a position by one table. Everything here keeps these three together, and
refuses to mix what does not belong together. It needs PyTorch.
"""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
