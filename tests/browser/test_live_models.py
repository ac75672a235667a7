"""The section whose models run in the page, used by hand."""

import json
from pathlib import Path

import pytest

from browser.untrained import live_data
from posenc.explorer.lesson.lesson_page import lesson_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory, lesson_numbers):
    path = tmp_path_factory.mktemp("live") / "live.html"
    path.write_text(lesson_page({**lesson_numbers, "live": live_data()}, ""), encoding="utf-8")
    return Path(path).as_uri()


@pytest.fixture
def view(watched, address):
    page = watched().open(address)
    page.locator("#live .veil button").click()
    view = page.locator("#view-live")
    view.locator(".next-words .bar-row").first.wait_for()
    return view


def seen(view):
    """What the models say now: the next words, and the loss of the sentence with each."""
    view.page.wait_for_timeout(1500)
    table = view.locator("tbody tr td:nth-of-type(1)").all_inner_texts()
    return view.locator(".next-words").inner_text(), table


def test_everything_that_is_touched_changes_what_comes_next(view):
    field, length = view.get_by_label("Your sentence"), view.get_by_label("Tokens of other text before it")
    before = seen(view)
    chips = view.locator(".swap")
    words = chips.all_inner_texts()
    chips.nth(1).focus()
    view.page.keyboard.press("Enter")
    assert chips.nth(1).get_attribute("aria-pressed") == "true"
    chips.nth(3).press("Enter")
    swapped = [words[0], words[3], words[2], words[1], *words[4:]]
    assert field.input_value() == " ".join(swapped)
    after = seen(view)
    assert after[0] != before[0]
    assert all(one != other for one, other in zip(before[1], after[1], strict=True))
    view.get_by_label("none", exact=True).check()
    bare = seen(view)
    assert bare[0] != after[0]
    assert bare[1] == after[1], "losses are of all models, whichever is shown"
    length.fill("100")
    far = seen(view)
    assert far[1] != bare[1]
    assert "positions that training never showed" in view.locator("[role=status]").inner_text()
    field.fill("Something else")
    other = seen(view)
    assert other[0] != far[0]
    assert view.locator(".swap").all_inner_texts() == ["Something", "else"]


def test_odd_sentences_break_nothing(view):
    field = view.get_by_label("Your sentence")
    for text in ("", "a", "<b>x</b> \U0001f600 \u0000", "w " * 80, "x" * 160):
        field.fill(text)
        _, losses = seen(view)
        assert "NaN" not in " ".join(losses)
        assert view.locator(".next-words .bar-row").count() == 7


def test_a_long_sentence_is_said_to_be_cut(view):
    view.get_by_label("Your sentence").fill("w " * 80)
    seen(view)
    said = view.locator("[role=status]").inner_text()
    assert said.endswith("The models read the first 40 tokens of your sentence and leave out the last 40.")
    assert view.locator(".on-paper").inner_text().startswith("“" + " ".join("w" * 40) + "…”")


def test_it_writes_until_the_field_is_full(view):
    draw = view.get_by_role("button", name="Draw one")
    first = view.get_by_label("Your sentence").input_value()
    draw.click()
    view.page.wait_for_timeout(300)
    assert view.get_by_label("Your sentence").input_value().startswith(first)


def test_attention_is_a_distribution_over_the_tokens_so_far(view):
    canvas = view.locator("canvas.heat-map")
    canvas.focus()
    canvas.press("ArrowDown")
    assert view.locator(".plot .readout").inner_text().endswith(": 1")


def test_data_fit_the_file():
    assert len(json.dumps(live_data())) < 1_300_000
