"""The page of models is what its generator writes, and its table of classes what transformers fills in."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def loaded(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current():
    page = loaded("tests/parity/models_page.py")
    assert page.PAGE.read_text(encoding="utf-8") == page.written(), "run python tests/parity/models_page.py"


@pytest.mark.parity
def test_the_table_of_classes_is_current():
    pytest.importorskip("transformers")
    table = loaded("quality/write_model_classes.py")
    assert table.FILE.read_text(encoding="utf-8") == table.generated(), "run python quality/write_model_classes.py"


def test_the_counts_said_elsewhere_are_those_of_the_page():
    said = loaded("tests/parity/models_page.py").written()
    checked, total = re.search(r"(\d+) of the (\d+) rotary classes", said).groups()
    changes = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    assert f"{checked} of the {total} rotary classes" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{checked} of the {total} rotary classes" in changes
