"""The sections on models of today, used by hand, and what they compute against posenc."""

from pathlib import Path

import numpy as np
import pytest

from browser.untrained import longer_data
from posenc.explorer.lesson.lesson_page import lesson_page
from posenc.explorer.lesson.media_places import media_places
from posenc.explorer.one_file import one_file
from posenc.inspect.rounding import narrowed
from posenc.models.released.released_models import models_called
from posenc.positions import Image, Text, Video, media

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory, lesson_numbers):
    path = tmp_path_factory.mktemp("today") / "today.html"
    path.write_text(lesson_page({**lesson_numbers, "longer": longer_data()}, ""), encoding="utf-8")
    return Path(path).as_uri()


@pytest.fixture
def page(watched, address):
    one = watched()
    opened = one.open(address)
    yield opened
    assert one.hosts <= {""}


def view_of(page, name):
    page.locator(f"#{name}").scroll_into_view_if_needed()
    veil = page.locator(f"#{name} .veil button")
    if veil.count():
        veil.first.click()
    view = page.locator(f"#view-{name}")
    view.locator("> *").first.wait_for()
    return view


def test_the_table_is_filtered_and_sorted(page):
    view = view_of(page, "todays")
    names = view.locator("tbody th")
    assert names.count() == 24
    view.get_by_label("Show models with").fill("rope ADJACENT")
    page.wait_for_timeout(200)
    assert {text.split("\n")[0] for text in names.all_inner_texts()} == {"GLM-4 9B", "Command R7B", "DeepSeek-V3"}
    view.get_by_label("Show models with").fill("")
    view.get_by_label("Sorted by").select_option(label="base, largest first")
    page.wait_for_timeout(200)
    assert names.first.inner_text().startswith("SmolLM3 3B")
    view.get_by_label("Show models with").fill("<b>no such model</b>")
    page.wait_for_timeout(200)
    assert names.count() == 0
    assert "0 of 24 models" in view.locator("[role=status]").inner_text()


def test_a_scaling_is_shown_beside_the_unchanged_curve(page):
    view = view_of(page, "longer")
    said, data = view.locator(".plainly"), longer_data()
    chosen = next(one for one in data["curves"] if (one["way"], one["factor"]) == ("YaRN", 4.0))
    assert chosen["changes"][-1] in said.inner_text()
    assert "better" in said.inner_text()
    view.get_by_label("linear", exact=True).check()
    assert said.inner_text().startswith("linear ×4")
    view.get_by_label("Made for how many times").fill("0")
    assert said.inner_text().startswith("Unchanged:")
    assert view.locator(".pairs-picture circle").count() == 16


def test_what_goes_wrong_in_rows_and_caches(page):
    view = view_of(page, "packing")
    rows = view.locator("tbody td")
    assert rows.all_inner_texts() == ["0", "0", "0"]
    view.get_by_label("ids restart").uncheck()
    assert [text != "0" for text in rows.all_inner_texts()] == [True, False, False]
    view.get_by_label("a mask between").uncheck()
    assert all(text != "0" for text in rows.all_inner_texts())
    verdict = view.locator(".verdict").last
    for name, mark in (("query counts from 0", "✗"), ("oldest keys dropped, ids run on", "✓")):
        view.get_by_label(name, exact=True).check()
        assert verdict.inner_text().startswith(mark)


def test_positions_of_any_size_and_none(page):
    view = view_of(page, "precision")
    field = view.get_by_label("A position", exact=True)
    for position in (0, 255, 2049, 65_518, 16_777_217):
        field.fill(str(position))
        page.wait_for_timeout(200)
        shown = view.locator(".stored tbody tr").first.locator("td").all_inner_texts()
        expected = narrowed(np.arange(position, position + 6).astype(np.float64), "bfloat16")
        assert [float(text) for text in shown] == expected.tolist()
        half = view.locator(".stored tbody tr").nth(1).locator("td").all_inner_texts()
        with np.errstate(over="ignore"):  # to ∞ from 65,520 on
            expected = np.arange(position, position + 6).astype(np.float16)
        assert [float(text.replace("∞", "inf")) for text in half] == expected.astype(np.float64).tolist()
    for wrong in ("", "-1", "1.5", "<b>1</b>"):
        field.fill(wrong)
        page.wait_for_timeout(200)
        assert view.locator(".problem").inner_text().startswith("Type a whole number")


def test_scores_of_patches_are_those_of_the_rotation(page):
    view = view_of(page, "media")
    vision = next(one for one in models_called("qwen2-vl")[0].positions.groups if one.part == "vision").rotary_encoding
    vector = np.tile([1.0, 0.0], vision.dim // 2) if hasattr(vision, "dim") else np.ones(80)
    places = np.array([[1, 2], [1, 3], [2, 2]])
    turned = np.asarray(vision.rotation(places, dtype=np.float64)(np.tile(vector, (3, 1))))
    right, below = (turned[0] @ turned[index] / (vector @ vector) for index in (1, 2))
    said = view.locator(".readout[role=status]").last
    assert f"to its right: {right:.2f} (0, 0, 1); the patch below: {below:.2f} (0, 1, 0)" in said.inner_text()
    view.get_by_label("one number", exact=True).check()
    assert "(1 on); the patch below" in said.inner_text()
    view.get_by_label("Frames of a video").fill("2")
    view.get_by_label("time, row, column", exact=True).check()
    assert "one frame on: " in said.inner_text()
    view.locator("canvas").focus()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    assert "NaN" not in said.inner_text()


def test_a_picked_patch_stays_in_the_picture(page):
    """Two columns are left of six: the third, which was picked, is now the gap before the second frame."""
    view = view_of(page, "media")
    view.get_by_label("Frames of a video").fill("2")
    view.get_by_label("Columns of patches").fill("2")
    said, marked = view.locator(".readout[role=status]").last, view.locator(".plot .readout")
    assert marked.inner_text() == "row 1, column, frame after frame 1: 1"
    assert "to its right" not in said.inner_text()  # it is the last of its row
    view.locator("canvas").focus()
    page.keyboard.press("ArrowRight")  # the gap has no patch
    assert marked.inner_text() == "row 1, column, frame after frame 1: 1"


def test_docs_are_links_on_the_site_and_names_elsewhere(page, watched, address):
    assert page.locator("#longer [data-docs] code").first.inner_text() == "docs/context-extension.md"
    folder = Path(address.removeprefix("file://")).parent / "live"
    folder.mkdir(exist_ok=True)
    copy = folder / "lesson.html"
    copy.write_text(Path(address.removeprefix("file://")).read_text(encoding="utf-8"), encoding="utf-8")
    on_site = watched().open(copy.as_uri())
    assert on_site.locator("#longer [data-docs] a").first.get_attribute("href") == "../context-extension/"


@pytest.fixture
def functions(watched, tmp_path):
    """A page whose functions tests may call."""
    from posenc.explorer.lesson.lesson_page import FOLDER

    for name in ("media_tokens.js", "narrow.js"):
        (tmp_path / name).write_text((FOLDER / "browser" / name).read_text(encoding="utf-8"), encoding="utf-8")
    entry = tmp_path / "entry.js"
    entry.write_text(
        'import { places } from "./media_tokens.js";\nimport { roundedTo } from "./narrow.js";\n'
        "Object.assign(window, { places, roundedTo });\n",
        encoding="utf-8",
    )
    file = tmp_path / "page.html"
    file.write_text(one_file(title="Today", entry=entry, styles=[], body="<main></main>"), encoding="utf-8")
    return watched().open(file.as_uri())


@pytest.mark.parametrize("size", [(1, 1, 1), (1, 4, 6), (1, 6, 2), (3, 2, 5), (8, 2, 2)])
def test_places_are_those_of_posenc(functions, size):
    frames, rows, columns = size
    picture = Image(rows, columns, 1) if frames == 1 else Video(frames, rows, columns, 1, 1)
    expected, _ = media([Text(3), picture, Text(2)], after="largest")
    given = [{"text": 3}, {"frames": frames, "rows": rows, "columns": columns}, {"text": 2}]
    assert functions.evaluate("(given) => places(given)", given) == expected.tolist()


def test_narrow_numbers_are_those_of_posenc(functions):
    positions = [*range(5000), *(2**k + d for k in range(12, 26) for d in (-3, -1, 0, 1, 2, 3))]
    for name, digits, largest in (("bfloat16", 8, 3e38), ("float16", 11, 65_504)):
        found = functions.evaluate(f"(all) => all.map((each) => roundedTo(each, {digits}, {largest}))", positions)
        with np.errstate(over="ignore"):
            assert found == narrowed(np.array(positions, dtype=np.float64), name).tolist()


def test_the_model_of_the_page_is_a_released_one():
    assert models_called(media_places()["model"])[0].name == media_places()["model"]
