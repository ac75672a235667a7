"""Loaded models of Hugging Face transformers: other encodings in them, faster attention, and what they do recorded.

`posenc.torch` knows nothing of models; what reads their configs, hooks into them or replaces their parts is here.
"""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
