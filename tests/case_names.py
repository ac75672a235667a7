"""Short, readable names for the cases of parametrized tests: `YaRN-2` for the third sample of the row YaRN."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

from posenc.catalog import CATALOG
from posenc.core.doors import Encoding

LONGEST = 40


def case_name(value: Any) -> str | None:
    """The name of a value in a test's id; None where pytest's own, the argument's name and a number, says as much."""
    name = _name(value)
    if name is None:
        return None
    name = re.sub(r"[^\x20-\x7e]+|\\", "", name)  # no line breaks, and no backslashes of regular expressions
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 2]}.."


def _name(value: Any) -> str | None:
    if isinstance(value, str):
        return value.lstrip("^") or "''"
    if isinstance(value, Encoding) and value in _samples():
        return _samples()[value]
    for known in ("name", "__name__"):  # a row, a check, a planted bug; a class, a function
        if isinstance(name := getattr(value, known, None), str):
            return None if name == "<lambda>" else name
    if is_dataclass(value):
        return f"{type(value).__name__}({','.join(filter(None, map(_field, _stated(value))))})"
    if isinstance(value, dict):
        return ",".join(f"{key}={_within(held)}" for key, held in value.items()) or "{}"
    if isinstance(value, tuple | list):
        return f"({','.join(map(_within, value))})"
    if hasattr(value, "dtype") and getattr(value, "shape", ()):
        return f"{value.dtype}{list(value.shape)}".removeprefix("torch.")
    text = str(value)
    return None if text.startswith("<") else text.removeprefix("torch.")


@cache
def _samples() -> dict[Encoding, str]:
    return {sample: f"{row.name}-{number}" for row in CATALOG for number, sample in enumerate(row.samples)}


def _stated(encoding: Any) -> list[tuple[str, Any]]:
    """The fields that are not at their default."""
    held = [(field, getattr(encoding, field.name)) for field in fields(encoding)]
    return [(field.name, value) for field, value in held if field.default is MISSING or value != field.default]


def _field(stated: tuple[str, Any]) -> str:
    name, value = stated
    if is_dataclass(value):
        return type(value).__name__
    return value if isinstance(value, str) else f"{name}={_within(value)}"


def _within(value: Any) -> str:
    return type(value).__name__ if is_dataclass(value) and not isinstance(value, type) else case_name(value) or "?"
