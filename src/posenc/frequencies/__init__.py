"""Frequencies of the pairs of channels, as frozen dataclasses; angles are computed from them in `phase`."""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
