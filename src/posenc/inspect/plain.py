"""Results as plain data: what JSON can hold."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from posenc.core.doors import Encoding


def as_plain(value: Any) -> Any:
    """Turn dataclasses, arrays and tuples into the dicts, lists and numbers of JSON.

    NaN and infinity become None, encodings their text.

    Example:
        >>> as_plain((1.5, float("nan"), {"shape": (2, 3)}))
        [1.5, None, {'shape': [2, 3]}]
    """
    if isinstance(value, np.ndarray | np.generic):
        return as_plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_plain(item) for item in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type | Encoding):
        return {field.name: as_plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.init}
    return repr(value) if isinstance(value, Encoding) else str(value)
