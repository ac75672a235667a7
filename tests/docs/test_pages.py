"""The generated pages of the encodings: what they say of claims, fields and names is what the code says."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import get_args

import pytest

import posenc
from generator import encoding, kinds
from generator.text import escaped, file_name, imports, parts, short
from posenc.core.doors import Claim


def test_every_claim_has_its_meaning() -> None:
    assert set(encoding.CLAIMS) == set(get_args(Claim))


def test_no_two_rows_share_a_file() -> None:
    assert len({file_name(row.name).lower() for row in posenc.CATALOG}) == len(posenc.CATALOG)
    assert file_name("RoPE++") != file_name("RoPE")


@pytest.mark.parametrize("row", posenc.CATALOG)
def test_the_short_form_rebuilds_the_encoding(row: posenc.catalog.Row) -> None:
    for sample in row.samples:
        names: dict[str, object] = {}
        exec(imports(sample), names)
        assert eval(short(sample), names) == sample


@pytest.mark.parametrize("row", posenc.CATALOG)
def test_no_word_of_a_docstring_is_lost(row: posenc.catalog.Row) -> None:
    text = inspect.getdoc(row.about) or ""
    told = parts(text, [field.name for field in fields(row.about)])
    found = " ".join([told.formula, *told.prose, told.example])

    def words(of: str) -> list[str]:
        plain = re.sub(r"\[(arXiv:[\d.]+)\]\([^)]*\)", r"\1", of).replace("&lt;", "<")
        return re.findall(r"\w+", plain.replace("\\", "").replace("_", " "))

    assert words(found) == words(text)


def test_fields_become_a_list_and_prose_stays_prose() -> None:
    told = parts(
        "f(x) = x.\n\nProse of a_b < c.\n\nx: one.     y, z: two,\nthree.\nRaises ValueError.\n\n>>> 1\n1",
        ["x", "y", "z"],
    )
    assert told.formula == "f(x) = x."
    assert told.prose == [r"Prose of a\_b &lt; c.", "- **`x`**: one.\n- **`y, z`**: two, three.", "Raises ValueError."]
    assert told.example == ">>> 1\n1"


def test_code_in_prose_stays_as_it_is() -> None:
    assert escaped("a*b of `a*b`, arXiv:1706.03762") == (
        r"a\*b of `a*b`, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762)"
    )


def test_every_row_has_a_kind_of_picture_and_a_caption() -> None:
    assert {kinds.kind(row) for row in posenc.CATALOG} <= set(kinds.CAPTIONS)
    assert all(kinds.caption(row) for row in posenc.CATALOG)
