"""docs/coverage.md: every item of the survey is told of, and every name in it exists."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module

import pytest

from generator.coverage import keys, page
from generator.covered import ITEMS, PARTS
from posenc.catalog import CATALOG
from posenc.encodings.rotates.axial_layouts import LAYOUTS


def exists(name: str) -> bool:
    """Whether this names a row, a field of a row's class, a layout of `axial`, or something in a module of posenc."""
    if name.startswith("axial:"):
        return name.removeprefix("axial:") in LAYOUTS
    if name.startswith("posenc."):
        module, _, last = name.rpartition(".")
        return hasattr(import_module(module), last)
    row, _, field = name.partition(".")
    found = next((candidate for candidate in CATALOG if candidate.name == row), None)
    if found is None:
        return False
    return not field or field in {one.name for one in fields(found.about)} or hasattr(found.about, field)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.key)
def test_every_name_exists_and_what_is_left_out_says_why(item) -> None:
    assert all(map(exists, item.where)), [name for name in item.where if not exists(name)]
    assert item.where or len(item.note) > 20


def test_the_items_are_those_of_the_survey() -> None:
    assert sum(count for _, count in PARTS.values()) == 114
    assert {item.key for item in ITEMS} == set(keys())
    assert len({item.key for item in ITEMS}) == len(ITEMS)


def test_every_row_is_on_the_page() -> None:
    text = page()
    assert all(f"[`{row.name}" in text for row in CATALOG)
