"""The five lines of (R_m q)·(R_n k) on the page are those of `posenc explain`."""

import pytest

from posenc import RoPE
from posenc.explorer.lesson.lesson_page import lesson_page
from posenc.inspect import product_derivation

pytestmark = pytest.mark.browser


@pytest.fixture
def view(watched, tmp_path, lesson_numbers):
    path = tmp_path / "product.html"
    path.write_text(lesson_page(lesson_numbers, ""), encoding="utf-8")
    view = watched().open(path.as_uri()).locator("#view-product")
    view.scroll_into_view_if_needed()
    view.locator(".steps").wait_for()
    return view


def plain(text):
    """Numbers without the zeros that one of the two writers leaves out."""
    return [round(float(part), 4) for part in text.replace("−", "-").replace("(", " ").replace(")", " ").split()
            if part.lstrip("-").replace(".", "", 1).isdigit()]  # fmt: skip


def seen(view):
    view.page.wait_for_timeout(200)
    return view.locator(".steps .numbers").all_inner_texts()


def check(view, q, k, m, n):
    expected = product_derivation(RoPE(dim=4), q, k, position=m, key=n).steps
    for shown, step in zip(seen(view), expected, strict=True):
        assert plain(shown.replace(",", " ").replace("·", " ")) == pytest.approx(
            plain(step.numbers.replace(",", " ").replace("·", " ")), abs=1.01e-4
        )


def test_lines_are_those_of_python_for_the_readers_vectors(view):
    check(view, [1, 0, 2, 1], [0.5, 1, -1, 2], 7, 3)
    view.get_by_label("q: four numbers").fill("−1.5, 2 .25 0")
    view.get_by_label("m: position of the query").fill("2")
    view.get_by_label("n: position of the key").fill("41")
    check(view, [-1.5, 2, 0.25, 0], [0.5, 1, -1, 2], 2, 41)


def test_both_moved_on_keep_the_product(view):
    before, result = seen(view), view.locator(".product").inner_text()
    view.get_by_role("button", name="Both one on").click()
    after = seen(view)
    assert after[0] != before[0]
    assert (after[1], after[3], after[4]) == (before[1], before[3], before[4])
    assert view.locator(".product").inner_text() == result
    for _ in range(60):
        view.get_by_role("button", name="Both one on").click()
    assert view.locator(".product").inner_text() == result


def test_nonsense_is_named_and_changes_nothing(view):
    before = seen(view)
    for text in ("", "1 2 3", "1 2 3 4 5", "a b c d", "1e5 0 0 0", "1 2 3 NaN", "9999 0 0 0"):
        view.get_by_label("k: four numbers").fill(text)
        assert seen(view) == before
        assert view.locator(".problem").inner_text().startswith("Type four numbers")
