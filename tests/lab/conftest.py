"""What processes that these tests start must find."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def tests_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes import functions of the tests by name."""
    folders = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, folders)))
