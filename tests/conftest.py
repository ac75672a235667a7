"""What every test shares: short names for the cases of a parametrized test."""

from typing import Any

from case_names import case_name


def pytest_make_parametrize_id(val: Any, argname: str) -> str | None:
    """Name a case that has no id of its own; pytest asks for each value of each case."""
    return argname if getattr(val, "__name__", "") == "<lambda>" else case_name(val)
