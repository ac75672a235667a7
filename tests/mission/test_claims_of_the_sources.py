"""Row 28: a page lists every checkable statement of the sources, with its verdict, its rule and where it is shown."""

import re
from pathlib import Path

import pytest

from posenc.lab.claims import claim_catalog, findings

PAGE = (Path(__file__).parents[2] / "docs" / "claims.md").read_text(encoding="utf-8")
FILED = findings.read_findings()
ROWS = re.findall(r"^\| \*\*([\w ]+)\*\* \| \[(.*?)\]\(#(\w+)\) \| (.*?) \|", PAGE, re.MULTILINE)


def test_every_statement_has_its_line_and_its_part_on_the_page():
    assert [name for _, _, name, _ in ROWS] == list(claim_catalog.NAMES)
    assert all(f"#{name}" in PAGE and claim_catalog.claim(name).rule for name in claim_catalog.NAMES)


@pytest.mark.parametrize(("verdict", "statement", "name", "sources"), ROWS)
def test_a_line_says_what_was_found(verdict, statement, name, sources):
    claim = claim_catalog.claim(name)
    assert (verdict, statement) == (FILED[name].finding.verdict, claim.statement)
    assert sources == ", ".join(claim.sources)


def test_all_five_documents_are_heard_and_some_are_contradicted():
    assert {source for _, _, _, sources in ROWS for source in sources.split(", ")} == {
        "lecture", "article", "lesson", "notes", "chapter",
    }  # fmt: skip
    contradicted = {name for verdict, _, name, _ in ROWS if verdict == "contradicted"}
    assert {"wavelength_is_the_divisor", "first_dimension_flips_like_the_last_bit"} <= contradicted
