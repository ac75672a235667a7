"""Row 28: a page lists every checkable statement of the sources, with its verdict, its rule and where it is shown."""

import re
from pathlib import Path

import pytest

from posenc.lab.claims import claim_catalog, findings

PAGE = (Path(__file__).parents[2] / "docs" / "claims.md").read_text(encoding="utf-8")
FILED = findings.read_findings()
#: Answers to questions that the sources leave open.
ASKED = {name for name, claim in claim_catalog.CLAIMS.items() if claim.question}
ANSWERS = re.findall(r"^\| ([^|*]+\?) \| \*\*([\w ]+)\*\* \| \[.*?\]\(#(\w+)\)", PAGE, re.MULTILINE)
ROWS = re.findall(r"^\| \*\*([\w ]+)\*\* \| \[(.*?)\]\(#(\w+)\)[^|]* \| (.*?) \|", PAGE, re.MULTILINE)


def test_every_statement_has_its_line_and_its_part_on_the_page():
    assert [name for _, _, name, _ in ROWS] == [name for name in claim_catalog.NAMES if name not in ASKED]
    assert {name for _, _, name in ANSWERS} == ASKED
    assert all(verdict == FILED[name].finding.verdict for _, verdict, name in ANSWERS)
    assert all(f"#{name}" in PAGE and claim_catalog.claim(name).rule for name in claim_catalog.NAMES)


@pytest.mark.parametrize(("verdict", "statement", "name", "sources"), ROWS)
def test_a_line_says_what_was_found(verdict, statement, name, sources):
    claim = claim_catalog.claim(name)
    assert (verdict, statement) == (FILED[name].finding.verdict, claim.statement)
    assert sources == ", ".join(claim.sources)


def test_all_five_documents_are_heard_and_some_are_contradicted():
    assert {source for _, _, _, sources in ROWS for source in sources.split(", ")} >= {
        "lecture", "article", "lesson", "notes", "chapter",
    }  # fmt: skip
    contradicted = {name for verdict, _, name, _ in ROWS if verdict == "contradicted"}
    assert {"wavelength_is_the_divisor", "first_dimension_flips_like_the_last_bit"} <= contradicted
