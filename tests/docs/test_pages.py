"""The generated pages of the encodings: what they say of claims, fields and names is what the code says."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields
from typing import get_args

import pytest

import posenc
from generator import encoding, kinds
from generator.docstring import docstring
from generator.text import escaped, file_name, imports, short
from posenc.core.doors import Claim

#: Fields that measure something.
MEASURED = {"base", "original", "length", "max_distance", "clip", "scale_base", "extent", "max_period", "initial_bound"}


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
    told = docstring(row.about)
    listed = [word for entry in (*told.arguments.items(), *told.raises) for word in entry]
    found = " ".join([told.formula, *told.prose, *listed, told.references, told.example])
    text = re.sub(r"^(Args|Raises|References|Example):$", "", inspect.getdoc(row.about) or "", flags=re.MULTILINE)
    assert re.findall(r"\w+", found) == re.findall(r"\w+", text)


@pytest.mark.parametrize("row", posenc.CATALOG)
def test_every_field_is_described_with_its_default(row: posenc.catalog.Row) -> None:
    page = encoding.page(row)
    for field in fields(row.about):
        default = "" if field.default is MISSING else f" = `{short(field.default)}`"
        assert not field.init or f"\n- **`{field.name}`**{default}: " in page, field.name


@pytest.mark.parametrize("row", posenc.CATALOG)
def test_every_field_is_described_on_its_own_page_with_its_unit(row: posenc.catalog.Row) -> None:
    described = docstring(row.about).arguments
    assert not [name for name, meaning in described.items() if meaning.startswith("As in ")]
    units = r"radians|tokens?\b|steps?\b|rows|positions?\b|places?\b|frames|logit|unit"
    assert not [name for name in MEASURED & set(described) if not re.search(units, described[name], re.IGNORECASE)]


def test_code_in_prose_stays_as_it_is() -> None:
    assert escaped("a*b of `a*b`, arXiv:1706.03762") == (
        r"a\*b of `a*b`, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762)"
    )


def test_every_row_has_a_kind_of_picture_and_a_caption() -> None:
    assert {kinds.kind(row) for row in posenc.CATALOG} <= set(kinds.CAPTIONS)
    assert all(kinds.caption(row) for row in posenc.CATALOG)
