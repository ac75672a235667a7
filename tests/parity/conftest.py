"""Every test of this folder compares with a live peer at a pinned version: `pytest -m parity` runs them alone."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from parity import timm_alone


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.parity)


@pytest.fixture(scope="session")
def timm() -> Callable[..., dict[str, Any]]:
    """Values of expressions of `layers` (timm.layers) and `torch`, by name, from a process of its own."""
    try:
        assert version("timm") == "1.0.31"
    except PackageNotFoundError:
        pytest.skip("timm is not installed: pip install --no-deps timm==1.0.31")
    return timm_alone.ask
