"""A headless Chromium for tests: the one of the system or of Playwright, and pages that may ask no other host."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
)  # fmt: skip


def executable() -> str | None:
    """The Chromium of this machine: the system's, else what `make browser` installed."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    installed = sorted(Path("~/.cache/ms-playwright").expanduser().glob("chromium*/chrome-linux*/*chrom*"))
    return found or next((str(path) for path in installed if os.access(path, os.X_OK) and path.is_file()), None)


@contextmanager
def launched() -> Iterator[Any]:
    """A browser; ImportError where Playwright is not installed, OSError where there is no Chromium."""
    from playwright.sync_api import sync_playwright

    path = executable()
    if path is None:
        raise OSError("no Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield browser
        browser.close()


class Watched:
    """A page with what must never happen on it: errors, messages of the console, requests to another host."""

    def __init__(self, browser: Any, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda message: self._console(message))
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def open(self, url: str) -> Any:
        self.page.goto(url)
        return self.page

    def close(self) -> None:
        self.context.close()


def until(page: Any, expression: str, seconds: float = 30) -> Any:
    """The value of an expression as soon as it is true.

    Playwright's own wait evaluates text inside the page, which the page's policy refuses whenever the first look is
    not the last.
    """
    end = time.monotonic() + seconds
    while not (value := page.evaluate(expression)):
        assert time.monotonic() < end, f"not so after {seconds} s: {expression}"
        page.wait_for_timeout(50)
    return value


if __name__ == "__main__":  # for make: whether there is a browser
    raise SystemExit(executable() is None)
