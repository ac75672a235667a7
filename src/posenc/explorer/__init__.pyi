"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .explorer import Explorer as Explorer
