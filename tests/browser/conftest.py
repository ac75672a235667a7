"""One browser for all tests of a worker; without one these tests are skipped, and `make test` ends with a notice."""

import pytest

from browser.chromium import Watched, launched


@pytest.fixture(scope="session")
def browser():
    try:
        with launched() as started:
            yield started
    except (ImportError, OSError) as error:
        pytest.skip(f"NO BROWSER: the pages are NOT tested ({error}). Run: make browser")


@pytest.fixture
def watched(browser):
    pages = []

    def opened(**options):
        pages.append(Watched(browser, **options))
        return pages[-1]

    yield opened
    for one in pages:
        one.close()
        assert not one.problems, one.problems


@pytest.fixture(scope="session")
def server():
    from browser.server import served

    with served() as started:
        yield started
