"""The mission page names, for every row, a test file of that row, and holds the errata that posenc knows."""

import re
from pathlib import Path

from posenc.learn import ERRATA

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "mission.md").read_text(encoding="utf-8")


def rows():
    return {int(line.split("|")[1]): line for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)}


def test_every_row_is_there_once_and_names_the_test_that_shows_it():
    assert list(rows()) == list(range(1, 30))
    shown = {number: line.split("|")[-2].strip().strip("`") for number, line in rows().items()}
    assert set(shown.values()) == {
        f"tests/mission/{path.name}" for path in (ROOT / "tests" / "mission").glob("test_*.py")
    }


def test_the_numbers_of_the_errata_are_on_the_page():
    """What the data calls correct, number by number, stands on the page too."""
    for entry in ERRATA:
        for number in re.findall(r"-?\d+\.\d+|929,505|60,676", entry.correct):
            assert number in PAGE, (entry, number)
