"""The mission page names, for every row, a test file of that row, and holds the errata that posenc knows."""

import re
from pathlib import Path

from posenc.inspect import ERRATA

PAGE = (Path(__file__).parents[2] / "docs" / "mission.md").read_text(encoding="utf-8")


def rows():
    return {int(line.split("|")[1]): line for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)}


def test_every_row_from_1_to_21_is_there_once_with_its_test():
    assert list(rows()) == list(range(1, 22))
    for number, line in rows().items():
        shown = line.split("|")[-2].strip()
        assert shown == ("to come" if number in (18, 19, 20) else f"`tests/mission/test_row_{number:02}.py`")


def test_the_numbers_of_the_errata_are_on_the_page():
    """What the data calls correct, number by number, stands on the page too."""
    for entry in ERRATA:
        for number in re.findall(r"-?\d+\.\d+|929,505|60,676", entry.correct):
            assert number in PAGE, (entry, number)
