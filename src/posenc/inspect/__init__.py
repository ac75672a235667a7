"""Measures and worked numbers of an encoding, as data; pictures of them are in `posenc.plot`.

Every result is a frozen dataclass of plain numbers and NumPy arrays, and prints the same lines everywhere.
"""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
