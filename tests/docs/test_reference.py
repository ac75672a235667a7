"""The API reference has an entry for every public name, which leads to the object of that name."""

from __future__ import annotations

import importlib
import re
from types import ModuleType

import pytest

from generator import reference
from griffe_docstrings import markdown

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


def test_a_docstring_is_prepared_for_a_page_of_markdown() -> None:
    text = "x^2 of a_b.\n\nArgs:\n    low: [0, 1] (*batch).\n\nExample:\n    >>> [1]\n    [1]"
    formula = '<p class="formula"><math><msup><mi>x</mi><mn>2</mn></msup></math> of <math><msub><mi>a</mi><mi>b</mi>'
    assert markdown(text, True) == (
        f"{formula}</msub></math>.</p>\n\nArgs:\n    low: \\[0, 1\\] (\\*batch).\n\nExamples:\n    >>> [1]\n    [1]"
    )
    assert markdown("a_b * c.", False) == r"a_b \* c."
