"""Planted bugs: each is caught by the check it names, each check trips on at least one, and docs/checks.md says so.

The page records which checks every bug trips. A test for each bug compares its line with what happens, so the page
and the suite cannot drift apart. `python tests/mutants/page.py` writes it anew.
"""

from pathlib import Path

import pytest

from mutants import page, rows
from mutants.bug import COSTLY, Bug
from mutants.page import BUGS
from mutants.source import SUBSTITUTIONS, Substitution
from posenc.testing import ALL_CHECKS

pytest.importorskip("torch")
pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> None:
    rows.forget()


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bug_is_caught(bug: Bug) -> None:
    assert bug.tripped([check for check in bug.checks() if check.name == bug.caught]) == [bug.caught]


@pytest.mark.parametrize("bug", SUBSTITUTIONS)
def test_bug_in_the_source_is_caught(bug: Substitution, tmp_path: Path) -> None:
    assert bug.tripped(tmp_path, bug.caught) == [bug.caught]


@pytest.mark.nightly
@pytest.mark.parametrize("bug", BUGS)
def test_the_page_names_every_check_that_trips(bug: Bug) -> None:
    assert bug.tripped() == page.recorded()[bug.name]


@pytest.mark.nightly
@pytest.mark.parametrize("bug", SUBSTITUTIONS)
def test_the_page_names_every_check_that_trips_on_a_bug_in_the_source(bug: Substitution, tmp_path: Path) -> None:
    assert bug.tripped(tmp_path) == page.recorded()[bug.name]


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
