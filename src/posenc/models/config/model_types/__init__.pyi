"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .type_rows import MODEL_TYPES as MODEL_TYPES
from .type_rows import ROWS as ROWS
