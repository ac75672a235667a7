"""Planted bugs: each is caught by the check it names, each check trips on at least one, and docs/checks.md says so.

The page records which checks every bug trips. A test for each bug compares its line with what happens, so the page and
the suite cannot drift apart. `python tests/mutants/page.py` writes it anew.
"""

from pathlib import Path

import pytest

from mutants import page
from mutants.bug import COSTLY, Bug
from mutants.page import BUGS
from mutants.source import SUBSTITUTIONS, Substitution
from posenc.testing import ALL_CHECKS

pytest.importorskip("torch")
pytest.importorskip("jax")


#: Bugs that remember earlier calls: what they trip besides depends on what ran before them.
REMEMBERING = ("CachedByLength", "GrowsWithTheLongest", "HandsOutItsCache")


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bug_is_caught(bug: Bug) -> None:
    tripped = bug.tripped()
    assert bug.caught in tripped
    if bug.name in REMEMBERING:
        assert set(tripped) >= set(page.recorded()[bug.name])
    else:
        assert tripped == page.recorded()[bug.name]


@pytest.mark.parametrize("bug", SUBSTITUTIONS)
def test_bug_in_the_source_is_caught(bug: Substitution, tmp_path: Path) -> None:
    tripped = bug.tripped(tmp_path)
    assert bug.caught in tripped
    assert tripped == page.recorded()[bug.name]


def test_every_check_trips_on_a_planted_bug() -> None:
    tripped = {name for names in page.recorded().values() for name in names}
    assert {check.name for check in ALL_CHECKS} - tripped == set()


def test_every_bug_is_recorded_once() -> None:
    names = [bug.name for bug in (*BUGS, *SUBSTITUTIONS)]
    assert len(names) == len(set(names))
    assert sorted(page.recorded()) == sorted(names)


def test_the_page_is_what_the_record_makes() -> None:
    assert page.PAGE.read_text() == page.written(page.recorded())


def test_costly_checks_exist() -> None:
    assert {check.name for check in ALL_CHECKS} >= COSTLY
