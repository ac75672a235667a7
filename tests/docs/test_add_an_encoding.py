"""The page on adding an encoding: its example is run as a stranger's own file."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from posenc.testing import checks_for

PAGE = Path(__file__).parents[2] / "docs" / "add-an-encoding.md"


@pytest.fixture(scope="module")
def gaussian(tmp_path_factory):
    code, check = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert "check_encoding(Gaussian(heads=2, width=2.0))" in check
    path = tmp_path_factory.mktemp("stranger") / "gaussian_of_the_page.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # where pickle looks for the class
    spec.loader.exec_module(module)
    yield module.Gaussian(heads=2, width=2.0)
    del sys.modules[path.stem]


def test_the_example_gives_these_numbers(gaussian):
    assert gaussian.matrix([4], [2, 4, 6]).tolist() == [[[-1.0, 0.0, -1.0]], [[-0.25, 0.0, -0.25]]]


def test_the_example_passes_every_check(gaussian):
    failed = []
    for check in checks_for(gaussian):
        if not check.slow:
            try:
                check.run(gaussian)
            except AssertionError as error:
                failed.append(f"{check.name}: {error}")
    assert failed == []
