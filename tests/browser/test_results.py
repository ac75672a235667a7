"""The Lab results view on a comparison that was really trained: its numbers, its pictures, and what axe says of it.

Long: `make browser` runs these.
"""

import subprocess
import sys

import pytest
from axe_playwright_python.sync_playwright import Axe

from browser.test_every_view import SCREENSHOTS, axe, settle
from posenc.explorer.explorer_page import Opening, static_page
from posenc.explorer.views.results_view import results

pytestmark = pytest.mark.browser
RUN = "import sys; from posenc.cli.main import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    """The folder of a smoke comparison, and the explorer's page of it."""
    folder = tmp_path_factory.mktemp("comparison")
    command = [sys.executable, "-c", RUN, "compare", "--tier", "smoke", "--out", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert ran.returncode == 0, ran.stderr
    page = folder / "page.html"
    page.write_text(static_page(Opening(results=results(folder))), encoding="utf-8")
    return folder, page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280, 2560])
def test_every_task_and_picture_at_every_width(watched, comparison, width, scheme):
    folder, file = comparison
    page = watched(width=width, scheme=scheme).open(file.as_uri())
    settle(page)
    for index, setting in enumerate(results(folder)["settings"]):
        page.get_by_label("Task").select_option(str(index))
        for picture in ("training loss by step", "scores by length"):
            page.get_by_label("Picture").select_option(picture)
            settle(page)
            assert axe(page, Axe) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        cells = page.locator(".stage tbody tr").first.locator("th, td").all_inner_texts()
        assert cells == [str(cell) for cell in setting["table"]["rows"][0]]
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"results-{width}-{scheme}.png", full_page=True)


def test_plot_draws_the_same_folder(comparison):
    folder, _ = comparison
    output = folder / "results.svg"
    command = [sys.executable, "-c", RUN, "plot", str(folder), "--picture", "results", "--output", str(output)]
    assert subprocess.run(command, timeout=300).returncode == 0
    assert output.read_bytes().count(b"<svg") == 1
