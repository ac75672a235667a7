"""Running the command line in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from posenc.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The output as JSON; NaN and Infinity are no JSON."""
        return json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


@pytest.fixture
def posenc(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run `posenc` with these words."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*words: str) -> Ran:
        code = main(words)
        return Ran(code, *capfd.readouterr())

    return run


@pytest.fixture
def student(posenc: Callable[..., Ran], tmp_path: Path) -> Callable[..., Ran]:
    """Run `posenc check` on a file with this code."""

    def run(code: str, *words: str) -> Ran:
        path = tmp_path / "mine.py"
        path.write_text(code)
        return posenc("check", f"{path}:mine", *words)

    return run
