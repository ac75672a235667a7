"""Every test of this folder compares with a live peer at a pinned version: `pytest -m parity` runs them alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
import torch

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.parity)


@pytest.fixture(scope="session")
def timm(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """Values of expressions of `layers` (timm.layers) and `torch`, by name, from one process."""
    try:
        assert version("timm") == "1.0.31"
    except PackageNotFoundError:
        pytest.skip("timm is not installed: pip install --no-deps timm==1.0.31")

    def ask(**expressions: str) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("timm")
        torch.save(expressions, folder / "asked.pt")
        script = [sys.executable, "-W", "ignore", str(FOLDER / "timm_alone.py")]
        subprocess.run([*script, str(folder / "asked.pt"), str(folder / "told.pt")], check=True, timeout=300)
        return torch.load(folder / "told.pt")

    return ask
