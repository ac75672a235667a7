"""The public conformance suite, for any encoding; posenc's own tests and their oracles live in `tests`.

`check_encoding(encoding)` runs every check for the encoding's door and claims, on encodings of the catalog and on
anyone's own. A claim is checked both ways: what is claimed must hold, what is not claimed must fail to hold. Checks
that need PyTorch or JAX run where these are installed, and the report says which were left out.
"""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
