"""The layer that is followed by hand: every number is what posenc computes, and the first difference is the first."""

import numpy as np
import pytest

from posenc.attention import attention
from posenc.explorer.lesson.layer_walk import ADDED, ROTATED, layer_walk
from posenc.explorer.lesson.lesson_page import lesson_page

pytestmark = pytest.mark.browser

ORDERS = {"dog bites man": (0, 1, 2), "man bites dog": (2, 1, 0)}
STEPS = ("E", "X", "q", "k", "v", "scores", "weights", "output")


def expected(kind, order):
    """Numbers of every step, from the encodings and the reference attention of posenc."""
    given = layer_walk()
    own = np.array(given["E"])[list(order)]
    positions = np.arange(len(order))
    x = own + ADDED.embed(positions) if kind == "added" else own
    q, k, v = (x @ np.array(given["W"][name]) for name in "qkv")
    encodings = (ROTATED,) if kind == "rotated" else ()
    places = {"query_positions": positions, "key_positions": positions}
    found = attention(q[None, None], k[None, None], v[None, None], layout="bhtd", encodings=encodings, **places)
    if encodings:
        rotation = ROTATED.rotation(positions, dtype=np.float64)
        q, k = rotation(q), rotation(k)
    values = (own, x, q, k, v, q @ k.T / 2, found.weights[0, 0], found.output[0, 0])
    return dict(zip(STEPS, values, strict=True))


@pytest.fixture
def view(watched, tmp_path, lesson_numbers):
    path = tmp_path / "layer.html"
    path.write_text(lesson_page(lesson_numbers, ""), encoding="utf-8")
    view = watched().open(path.as_uri()).locator("#view-layer")
    view.scroll_into_view_if_needed()
    view.locator(".cell-table").first.wait_for()
    return view


#: Tables of the steps, and not those of the four terms.
STEP_TABLES = ".cell-table:not(.terms *)"


def cells(table):
    """Numbers of a table."""
    texts = table.locator("tbody td").all_inner_texts()
    return np.array([text.replace("−", "-") for text in texts], dtype=float)


@pytest.mark.parametrize("kind", ["none", "added", "rotated"])
def test_every_number_is_what_posenc_computes(view, kind):
    labels = {"none": "no positions", "added": "added: E + P", "rotated": "rotary"}
    view.get_by_label(labels[kind], exact=True).check()
    both = [expected(kind, order) for order in ORDERS.values()]
    for index, name in enumerate(STEPS):
        view.get_by_label(f"{index + 1} {name}", exact=True).check()
        view.page.wait_for_timeout(50)
        for table, numbers in zip(view.locator(STEP_TABLES).all(), both, strict=True):
            np.testing.assert_allclose(cells(table), numbers[name].ravel(), atol=0.00501)
        for lines, numbers in zip(view.locator(".origin").all(), both, strict=True):
            shown = lines.locator("p").all_inner_texts()
            row = 0 if numbers is both[0] else 2
            column = row if name in ("scores", "weights") else 0
            value = f"{numbers[name][row, column] + 0.0:.3f}".replace("-", "−")
            assert any(line.endswith(value) for line in shown), (name, shown, value)


def test_four_terms_sum_to_the_score(view):
    view.get_by_label("6 scores", exact=True).check()
    view.get_by_label("Number of the word").select_option("1")
    view.get_by_label("in channel (with word)").select_option("2")
    lines = view.locator(".origin").first.locator("p").all_inner_texts()
    terms = [float(line.split(": ")[1].replace("−", "-")) for line in lines[-4:]]
    assert sum(terms) == pytest.approx(expected("added", (0, 1, 2))["scores"][1, 2], abs=2.1e-3)


def test_the_first_difference_is_marked_in_both_orders(view):
    assert "step 2, X of “dog”, channel 0" in view.locator(".plainly").inner_text()
    assert view.locator(".marked").count() == 2
    view.get_by_label("rotary", exact=True).check()
    view.get_by_role("button", name="Show the first difference").click()
    assert "step 3, q of “dog”, channel 0" in view.locator(".plainly").inner_text()
    assert view.locator(".marked").count() == 2
    view.get_by_label("no positions", exact=True).check()
    assert view.locator(".plainly").inner_text().startswith("No number differs")
    assert view.get_by_role("button", name="Show the first difference").is_disabled()


def test_a_number_that_is_clicked_is_explained(view):
    view.get_by_role("button", name="All steps at once").click()
    assert view.locator(STEP_TABLES).count() == 2 * len(STEPS)
    view.locator(STEP_TABLES).nth(15).locator("tbody td").nth(5).click()
    assert view.get_by_label("Number of the word").input_value() == "1"
    assert "weights · values of channel 1" in view.locator(".origin").nth(15).inner_text()
