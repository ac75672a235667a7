"""Engines side by side: what each of them makes of a model's positions, run here in processes of their own.

`engine_table` asks transformers, llama.cpp, mlx-lm and others what they apply for one file. It needs NumPy alone; each
engine has an environment of its own in a cache folder, made when it is first asked for.
"""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
