"""Packages that only some engines need."""

from __future__ import annotations

import importlib
from typing import Any


def needed(package: str, extra: str) -> Any:
    """The package, or a ValueError in one line that says how to install it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ValueError(
            f"{package} must be installed here; it is not. Run: pip install {package} (the extra [{extra}] has it), "
            "or use another engine."
        ) from None
