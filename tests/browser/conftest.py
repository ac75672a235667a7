"""One browser for all tests of a worker; without one these tests are skipped, and `make test` ends with a notice."""

import os
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from browser.chromium import Watched, launched

ROOT = Path(__file__).parents[2]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing of requests."""


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
def lesson_numbers():
    """Data of all sections of the lesson that wait for no training."""
    from posenc.explorer.lesson.numbers import lesson_data
    from posenc.explorer.lesson.orders import PAIRS

    return lesson_data(PAIRS, 0)


@pytest.fixture(scope="session")
def server():
    from browser.server import served

    with served() as started:
        yield started


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Address of the docs, built and served."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
