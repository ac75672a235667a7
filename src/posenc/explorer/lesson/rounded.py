"""Numbers as the lesson's file holds them."""

from __future__ import annotations

from typing import Any

import numpy as np


def rounded(values: Any, digits: int = 4) -> Any:
    """Nested lists of numbers with so many decimals."""
    return np.round(np.asarray(values, dtype=np.float64), digits).tolist()
