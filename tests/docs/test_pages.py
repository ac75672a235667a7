"""The generated pages of the encodings: what they say of claims, fields and names is what the code says."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import get_args

import pytest

import posenc
from generator import encoding, gallery, kinds
from generator.docstring import docstring
from generator.text import escaped, file_name, imports, short
from posenc.core.doors import Claim

PAGES = Path(__file__).parents[2] / "docs" / "encodings"
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
    page = (PAGES / f"{file_name(row.name)}.md").read_text(encoding="utf-8")  # current, as tests/architecture says
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


def test_a_page_shows_the_rotation_and_the_models_that_use_it() -> None:
    pages = {row.name: encoding.page(row) for row in posenc.CATALOG if row.name in ("RoPE", "YaRN", "Learned", "NoPE")}
    assert "pair 1 (dimensions 2, 3): angle = 3 / 10000^(2/8) = 0.3 rad" in pages["RoPE"]
    used = {
        name: page.partition("## Released models that use it")[2].partition("##")[0] for name, page in pages.items()
    }
    assert "Llama 3 8B" in used["RoPE"]
    assert "DeepSeek-V3" in used["YaRN"]
    assert "Llama 3 8B" not in used["YaRN"]
    assert "GPT-2" in used["Learned"]
    assert not used["NoPE"], "a model without positions in some layers has an encoding in the others"


def test_the_gallery_does_not_open_on_a_blank_picture() -> None:
    section = gallery.page().partition("## Adds")[2].partition("## Rotates")[0]
    names = re.findall(r"\*\*(\w+)\*\*\]", section)
    assert names[-1] == "NoPE"
    assert names[0] == "Count"
