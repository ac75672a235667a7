"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .every_view import VIEWS as VIEWS
from .view import View as View
