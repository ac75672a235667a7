"""docs/replacing.md runs as written: its Python blocks, one after another in one namespace."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "replacing.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)


def one_file(name: str, path: str) -> ModuleType:
    """One module of an installed package, without the package around it, whose own requirements are large."""
    package = importlib.util.find_spec(name.partition(".")[0])
    if package is None or not package.submodule_search_locations:
        raise ImportError(f"{name} is needed by this page: pip install --no-deps torchtune==0.6.1")
    spec = importlib.util.spec_from_file_location(name, Path(package.submodule_search_locations[0]) / path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{name} has no {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def torchtune_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """torchtune's rotary file where the page imports it from, under empty packages of the names above it."""
    name = "torchtune.modules.position_embeddings"
    module = one_file(name, "modules/position_embeddings.py")
    monkeypatch.setitem(sys.modules, "torchtune", ModuleType("torchtune"))
    monkeypatch.setitem(sys.modules, "torchtune.modules", ModuleType("torchtune.modules"))
    monkeypatch.setitem(sys.modules, name, module)


def test_the_page_has_an_assertion_in_every_block() -> None:
    assert len(BLOCKS) == 8
    assert all("assert " in block for block in BLOCKS)


@pytest.mark.usefixtures("torchtune_alone")
def test_every_block_runs() -> None:
    namespace: dict[str, object] = {}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"{PAGE.name}, block {number + 1}", "exec"), namespace)
    assert {"ours", "theirs", "difference"} <= set(namespace)
