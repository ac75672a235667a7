"""The API reference has an entry for every public name, which leads to the object of that name."""

from __future__ import annotations

import importlib
import re
from types import ModuleType

import pytest
from reference_docstrings import markdown

from generator import reference

PAGES = reference.pages()


@pytest.mark.parametrize("package", reference.PACKAGES)
def test_every_public_name_has_its_entry(package: str) -> None:
    module = importlib.import_module(package)
    public = {name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)}
    assert set(reference.public_names(package)) == public
    entries = re.findall(r"^::: (.*)$", PAGES[f"{package}.md"], re.MULTILINE)
    assert len(entries) == len(public)
    for name in public:
        defined_in, _, written = reference.definition(package, name).rpartition(".")
        assert f"{defined_in}.{written}" in entries
        assert getattr(importlib.import_module(defined_in), written) is getattr(module, name)


def test_every_package_that_lists_its_names_has_a_page() -> None:
    found = {
        ".".join(path.parent.relative_to(reference.SOURCES).parts)
        for path in reference.SOURCES.glob("posenc/*/__init__.py*")
        if re.search(r"^(__all__ = \[|.*__all__ = lazy_loader)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    internal = {"posenc.phase", "posenc.compose", "posenc.explorer", "posenc.cli", "posenc.core.arrays"}
    assert found - internal <= set(reference.PACKAGES)


def test_a_docstring_becomes_a_formula_a_list_and_an_example() -> None:
    written = markdown("x^2 of a_b.\n\nlow, high: the [range].\nRaises ValueError.\n\n>>> 1\n1", ["low", "high"], True)
    assert written == (
        '<p class="formula"><math><msup><mi>x</mi><mn>2</mn></msup></math> of <math><msub><mi>a</mi><mi>b</mi></msub>'
        "</math>.</p>\n\n- **`low, high`**: the \\[range\\].\n\nRaises ValueError.\n\n```python\n>>> 1\n1\n```"
    )
    assert markdown("a_b * c.", [], False) == r"a\_b \* c."
