"""Positions of released models: read from their configs, compared, converted and written.

Needs NumPy alone; other formats import their own library when used. Every result is a frozen encoding of plain numbers
that says where each of them came from.
"""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
