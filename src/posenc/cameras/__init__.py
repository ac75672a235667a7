"""Encodings whose positions are cameras: maps of queries, keys, values and the output of multi-view attention.

No door is here: a camera is a matrix, no coordinate, and its maps of queries and keys are no rotations.
"""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
