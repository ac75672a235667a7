"""posenc: one exact, fast, portable and explained definition of every positional encoding for transformers."""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for: `import
#: posenc` stays quick however many encodings there are.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

#: The release; pyproject.toml reads it here.
__version__ = "0.1.0"
