"""A row for each kind of model type that `config` can read; how rows are read is one folder up.

Read in the modeling files of transformers 5.23.0, and proved by tests/parity/test_models_*.py against the live classes.
"""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
