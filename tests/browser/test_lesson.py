"""The lesson in a browser: it opens without a problem, asks before it shows, and shows what posenc computes."""

import json
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from browser.chromium import until
from browser.untrained import live_data, longer_data
from lesson.pretend_models import pretend_model
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.lesson import journey
from posenc.explorer.lesson.lesson_page import SECTIONS, lesson_page
from posenc.explorer.lesson.numbers import BASES, WIDTHS, lesson_data
from posenc.explorer.lesson.orders import PAIRS
from posenc.explorer.lesson.trained_models import learned_maps, trained_models
from posenc.inspect import input_sum, order_by_architecture, position_change, shift_derivation
from posenc.inspect.order import word_layer
from posenc.lab.tour_plan import tour_experiments
from posenc.learn import find_positions

SECTION_NAMES = [section.name for section in SECTIONS]


class PretendReading:
    """A text without a tokenizer: what the models wrote is a list of numbers."""

    source, text, tokens = "a text", "word " * 100, 500

    class corpus:  # noqa: N801
        train, held_out = np.arange(400), np.arange(100)

    @staticmethod
    def shown(tokens):
        return " ".join(map(str, tokens))


def pretend_models():
    """Outcomes whose losses rise beyond the training length for every second model."""
    models = []
    for index, (name, experiment) in enumerate(tour_experiments("", 10).items()):
        spread = np.random.default_rng(index).random((50, 16)) / 100
        far = np.where(np.arange(16) < 4, 0.0, float(index % 2))
        models.append(pretend_model(name, experiment, 3 + far + spread, (1,) * 99))
    return trained_models(models, PretendReading())


@pytest.fixture(scope="module")
def lesson(tmp_path_factory):
    """The page with its real numbers, attention trained for a moment, and pretended language models."""
    data = lesson_data(PAIRS, 0)
    data["maps"] = [learned_maps(*each, 2, 0) for each in journey.LEARNERS[:4]]
    data["models"] = pretend_models()
    data["live"] = live_data()
    data["longer"] = longer_data()
    path = tmp_path_factory.mktemp("lesson") / "lesson.html"
    path.write_text(lesson_page(data, ""), encoding="utf-8")
    return path, data


def opened(watched, lesson, **options):
    """The page with every view drawn and every prediction skipped."""
    one = watched(**options)
    page = one.open(lesson[0].as_uri())
    page.set_default_timeout(30_000)
    while page.locator(".veil").count():
        page.locator(".veil button").first.click()
    for name in SECTION_NAMES:
        page.locator(f"#{name}").scroll_into_view_if_needed()
        if page.locator(f"#view-{name}").count():
            page.locator(f"#view-{name} > *").first.wait_for(state="attached")
    page.get_by_role("button", name="Show it without a guess").click()
    assert one.hosts <= {""}
    return page


def violations(page):
    found = Axe().run(page).response["violations"]
    return [(one["id"], node["html"][:160]) for one in found for node in one["nodes"][:2]]


def test_the_page_opens_asks_and_shows(watched, lesson):
    path, data = lesson
    one = watched()
    page = one.open(path.as_uri())
    dimmed = page.locator("#view-words.dimmed")
    assert dimmed.count() == 1
    page.locator("#view-hero .cell-table").nth(1).wait_for(timeout=1000)  # without an answer, in a second at most
    assert dimmed.count() == 1
    page.get_by_label("Each word keeps its vector.").check()
    assert dimmed.count() == 0
    assert page.locator("#words .answer").inner_text().startswith("As you said.")
    shown = page.locator("#view-words tbody td").all_inner_texts()
    pair = data["words"][0]
    expected = pair["choices"][0]["outputs"][pair["other"]]
    cells = [text.replace("−", "-") for text in shown if text != "0.0"]
    np.testing.assert_allclose(np.array(cells, dtype=float).reshape(3, -1), expected, atol=0.0051)
    assert one.hosts <= {""}


@pytest.mark.browser
def test_every_view_is_drawn_and_axe_finds_nothing(watched, lesson):
    page = opened(watched, lesson)
    assert page.locator(".veil").count() == 0
    assert violations(page) == []
    assert "do not" in page.locator("#beyond .plainly").inner_text()
    held_out = page.locator("#view-models tbody td:nth-child(4)").all_inner_texts()
    assert held_out == [one["at"][0] for one in lesson[1]["models"]["models"]], "the table has what the text ranks by"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 820, 1920])
def test_no_violation_and_nothing_cut_off_at_any_width(watched, lesson, width, scheme):
    page = opened(watched, lesson, width=width, scheme=scheme)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    scrolling = "getComputedStyle(e).overflowX === 'auto' || getComputedStyle(e).overflowX === 'scroll'"
    assert page.evaluate(f"[...document.querySelectorAll('main *')].filter((e) => {scrolling}).length") == 0


def numbers_in(cells):
    return np.array([text.replace("−", "-") for text in cells], dtype=float)


@pytest.mark.browser
def test_the_readers_own_words_take_vectors_of_the_file_in_every_section(watched, lesson):
    page = opened(watched, lesson)
    words, others, total = (page.locator(f"#view-{name}") for name in ("words", "others", "sum"))
    for view in (words, others, total):
        view.get_by_label("your own words", exact=True).check()
    field = words.get_by_label("Two to four words of your own")
    field.fill("<b>We</b> really saw HER!")
    assert words.locator(".chip").all_inner_texts() == ["HER", "saw", "really", "b>We</b"]
    words.get_by_label("What tells the layer").select_option(label="sinusoidal")
    layer = word_layer(Sinusoidal(dim=16), causal=False, seed=0)
    expected = layer.outputs([["today", "man", "bites", "dog"]])[0, :, :8]
    shown = numbers_in(words.locator("tbody td:not(.note)").all_inner_texts())
    np.testing.assert_allclose(shown.reshape(4, 8), expected, atol=0.0051)
    assert others.locator(".panel").first.locator(".bar-row > span:first-child").all_inner_texts()[1] == "really"
    recurrence = order_by_architecture("dog bites man today", "today man bites dog")[0]
    assert others.locator(".panel").first.locator(".mono").all_inner_texts() == [w.shown for w in recurrence.words]
    expected = input_sum("dog bites man today", Sinusoidal(dim=8)).total
    shown = numbers_in(total.locator("table").last.locator("tbody td").all_inner_texts())
    np.testing.assert_allclose(shown.reshape(4, 8), expected, atol=0.0051)
    for wrong, line in (("one", "Type two to four words"), ("a b c d e", "these are 5"), ("a man A", "“a” stands")):
        field.fill(wrong)
        assert line in words.locator(".problem").inner_text()
        assert words.locator(".chip").count() == 4
    field.fill("you know me")
    words.get_by_role("button", name="Next order").click()
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    words.get_by_role("button", name="Copy link").click()
    again = watched().open(until(page, "window.copied"))
    again.locator("#view-words .keep").wait_for(state="attached")
    assert again.locator("#words .veil").count() == 0, "a link opens what it names"
    assert again.locator("#view-words .chip").all_text_contents() == words.locator(".chip").all_text_contents()
    assert violations(page) == []


@pytest.mark.browser
def test_the_derivation_is_that_of_python(watched, lesson):
    page = opened(watched, lesson)
    page.locator("#view-shift").get_by_label("t: where the step starts").fill("5")
    page.locator("#view-shift").get_by_label("k: how far back the head looks").fill("2")
    steps = shift_derivation(Sinusoidal(dim=64), 2, position=5).steps
    shown = page.locator("#view-shift .numbers").all_inner_texts()
    for index in (1, 2):
        left, right = steps[index].numbers.split(" = ")
        words = shown[index].replace("−", "-").split(" = ")
        assert float(words[1]) == pytest.approx(float(left), abs=1e-4)
        assert [float(part.strip("()")) for part in words[0].replace("·", " ").split() if part not in "+-"] == [
            pytest.approx(float(part.strip("()")), abs=1e-4)
            for part in right.replace("·", " ").split()
            if part not in "+-"
        ]
    assert "22 of 22" in page.locator("#view-shift .verdict").inner_text()


@pytest.mark.browser
def test_moving_both_words_keeps_the_product(watched, lesson):
    page = opened(watched, lesson)
    product = page.locator("#view-turn .product")
    before = product.inner_text()
    page.get_by_role("button", name="Both 7 on").click()
    assert product.inner_text() == before
    page.locator("#view-turn").get_by_label("m: position of the query").fill("30")
    assert product.inner_text() != before
    box = page.locator("#view-turn svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    slider = page.locator("#view-turn").get_by_label("m: position of the query")
    other = page.locator("#view-turn").get_by_label("n: position of the key")
    assert (slider.input_value(), other.input_value()) != ("30", "9")


@pytest.mark.browser
def test_each_bug_shows_what_the_doctor_says(watched, lesson):
    page = opened(watched, lesson)
    view = page.locator("#view-break")
    for bug in lesson[1]["bugs"]["switches"]:
        view.get_by_label(bug["name"], exact=True).check()
        for line in bug["doctor"]:
            assert line in view.locator(".doctor").inner_text()
        view.get_by_label("How far back the right word stands").fill("13")
        found = bug["right"][13] > 0.5
        assert view.locator(".verdict").inner_text().startswith("✓" if found else "✗")


@pytest.mark.browser
def test_exercises_are_graded_as_posenc_check_does(watched, lesson):
    page = opened(watched, lesson)
    questions = lesson[1]["exercises"]
    for one in questions:
        item = page.locator("#view-exercises li", has_text=one["asks"]).first
        right = " ".join(f"{value:.2f}" for value in one["numbers"])
        right = {"position": "7", "words": one["answer"]}.get(one["kind"], right)
        for answer, state in (("no idea" if one["kind"] == "words" else f"{right}1 9", "wrong"), (right, "right")):
            item.get_by_role("textbox").fill(answer)
            item.get_by_role("button").click()
            page.wait_for_timeout(10)
            assert item.locator(".grade").get_attribute("data-state") == state, (one["name"], answer)
    assert (
        page.locator("#view-exercises .score")
        .inner_text()
        .startswith(f"{len(questions)} of {len(questions)} questions solved")
    )


@pytest.mark.browser
def test_numbers_of_any_length_and_none(watched, lesson):
    page = opened(watched, lesson)
    field = page.locator("#view-dials").get_by_label("A number")
    for number in (0, 150, 929505, 2**53):
        field.fill(str(number))
        page.wait_for_timeout(30)
        digits = page.locator("#view-dials .bit > .mono").all_inner_texts()
        assert "".join(digits[::-1]) == f"{number:b}"
        sines = page.locator("#view-dials .dial svg").evaluate_all(
            "all => all.map((e) => e.getAttribute('aria-label'))"
        )
        expected = Sinusoidal(dim=8).embed([number])[0, ::2]
        found = [float(text.split("sine ")[1].split(",")[0].replace("−", "-")) for text in sines]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-9)
    field.fill("929,505")
    page.wait_for_timeout(30)
    assert "".join(page.locator("#view-dials .bit > .mono").all_inner_texts()[::-1]) == f"{929505:b}"
    for wrong in ("", "-1", "1e5", "<b>1</b>", str(2**53 + 1), "3.5", "1,5", "1,234.567"):
        field.fill(wrong)
        page.wait_for_timeout(30)
        assert page.locator("#view-dials .problem").inner_text().startswith("Type a whole number")


@pytest.mark.browser
def test_bits_and_pairs_of_a_number_lie_over_one_axis(watched, lesson):
    page = opened(watched, lesson)
    paths = page.locator("#view-dials .wave path:not(.dot)").evaluate_all("all => all.map((e) => e.getAttribute('d'))")
    assert len(paths) == 8 + 4
    for bit, path in enumerate(paths[:8]):
        flips = [float(part.split("V")[0]) for part in path.split("H")[1:-1]]
        expected = [number / 1.5 for number in range(1, 151) if number >> bit & 1 != (number - 1) >> bit & 1]
        np.testing.assert_allclose(flips, expected, atol=0.006)
    for pair, path in enumerate(paths[8:]):
        points = np.array([part.split() for part in path[1:].split("L")], dtype=float)
        sines = Sinusoidal(dim=8).embed(points[:, 0] * 1.5)[:, 2 * pair]
        np.testing.assert_allclose((10 - points[:, 1]) / 7, sines, atol=0.01)
    assert page.locator("#view-dials .axis div span").all_inner_texts() == ["0", "50", "100", "150"]


@pytest.mark.browser
def test_a_value_is_solved_for_its_position_as_posenc_recover_does(watched, lesson):
    view = opened(watched, lesson).locator("#view-recover")
    for dimension, text, dim, base in ((3, "0.85", 16, 100.0), (2, "-0.3", 8, 10_000.0)):
        encoding = Sinusoidal(dim, base)
        for label, value in (("Width d", WIDTHS.index(dim)), ("Base n", BASES.index(base)), ("Dimension", dimension)):
            view.get_by_label(label).fill(str(value))
        view.get_by_label("Its value").fill(text)
        view.get_by_text(f"{text} = ").wait_for()
        found = find_positions({dimension: text}, conventions=encoding, largest=1000)
        listed = view.locator(".verdict").inner_text().partition(": ")[2].split(", ")
        assert [int(listed[0]), int(listed[1])] == [found.fits[0].first, found.fits[0].following]
        solved = found.derivation()[4]
        shown = view.locator(".numbers").nth(1).inner_text().replace("−", "-")
        assert float(shown.split(" = ")[-1]) == pytest.approx(float(solved.split(" = ")[-1]), rel=1e-4)
    view.get_by_label("Its value").fill("1.5")
    view.locator(".problem", has_text="Type a number from −1 to 1").wait_for()


@pytest.mark.browser
def test_one_word_at_three_places_and_the_slope_of_a_dimension(watched, lesson):
    page = opened(watched, lesson)
    change = position_change(RoPE(dim=128))
    view = page.locator("#view-same")
    view.get_by_label("rotary").check()
    view.get_by_label("99").check()
    for share in change.shares[-1]:
        assert f"{100 * share:.1f} %" in view.locator(".verdict").inner_text()
    line = page.locator("#view-waves .worked").last.inner_text().replace("−", "-")
    assert float(line.split("slope is ")[1]) == pytest.approx(np.cos(3), abs=1e-4)


@pytest.mark.browser
def test_four_terms_of_each_score_sum_to_the_score(watched, lesson):
    view = opened(watched, lesson).locator("#view-layer")
    view.get_by_label("6 scores").check()
    tables = view.locator(".terms table").all()
    terms = [numbers_in(table.locator("tbody td").all_inner_texts()) for table in tables]
    np.testing.assert_allclose(sum(terms[:4]), terms[4], atol=0.021)
    scores = numbers_in(view.locator(".cell-table").first.locator("tbody td").all_inner_texts())
    np.testing.assert_array_equal(terms[4], scores)
    view.get_by_label("rotary").check()
    assert view.locator(".terms").is_hidden(), "a rotated score has one term"


@pytest.mark.browser
@pytest.mark.nightly
def test_a_view_that_is_used_keeps_no_old_parts(watched, lesson):
    """Listeners and nodes of the page after twenty changes of each choice are those after a few."""
    page = opened(watched, lesson)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")

    def kept(rounds):
        for at in range(rounds):
            page.evaluate(USE, at)
            page.wait_for_timeout(100)
        devtools.send("HeapProfiler.collectGarbage")
        metrics = {one["name"]: one["value"] for one in devtools.send("Performance.getMetrics")["metrics"]}
        return metrics["JSEventListeners"], metrics["Nodes"]

    kept(8)
    listeners, nodes = kept(8)
    more_listeners, more_nodes = kept(20)
    assert more_listeners <= listeners + 40
    assert more_nodes <= 1.05 * nodes


#: Every choice of the views that draw tables, changed.
USE = """(round) => {
  for (const view of document.querySelectorAll("#view-maps, #view-layer, #view-sum, #view-words")) {
    const inputs = [...view.querySelectorAll("input[type=radio], select, input[type=range]")];
    const one = inputs[(7 * round) % inputs.length];
    if (one.tagName === "SELECT") one.selectedIndex = round % one.options.length;
    else if (one.type === "radio") one.checked = true;
    else one.value = round;
    one.dispatchEvent(new Event("input", { bubbles: true }));
  }
}"""


@pytest.mark.browser
def test_slides_turn_by_keys(watched, lesson):
    page = opened(watched, lesson, width=1920)
    page.evaluate("scrollTo(0, 0)")
    page.get_by_role("button", name="Slides").click()
    count = page.locator("#slide-bar output")
    assert page.locator("main > section:visible").count() == 0, "the title comes first"
    page.keyboard.press("ArrowRight")
    assert count.inner_text().startswith("2 of ")
    assert page.locator("main > section:visible").count() == 1
    page.locator("body").press("End")
    page.wait_for_timeout(1500)
    at, _, frames = count.inner_text().partition(" of ")
    assert at == frames
    assert int(frames) > 2 * sum(section.on_slides for section in SECTIONS)
    page.locator("body").press("Home")
    for key in (" ", " ", "PageDown"):
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press(key)
    assert page.url.endswith("#slide=others")
    page.keyboard.press("Escape")
    assert page.locator("main > section:visible").count() == len(SECTIONS)


#: Sizes in pixels of all texts of a slide, those of drawings and formulas too.
TEXTS = """() => {
  const walk = document.createTreeWalker(document.querySelector(".current"), NodeFilter.SHOW_TEXT);
  const found = [];
  while (walk.nextNode()) {
    const part = walk.currentNode.parentElement;
    const range = document.createRange();
    range.selectNodeContents(walk.currentNode);
    if (!walk.currentNode.data.trim() || !range.getBoundingClientRect().width) continue;
    if (part.closest(".unseen, option")) continue;
    const drawn = part.closest("svg") && part.getScreenCTM();
    const scale = drawn ? Math.hypot(drawn.a, drawn.b) : part.currentCSSZoom;
    found.push([scale * parseFloat(getComputedStyle(part).fontSize), walk.currentNode.data.trim().slice(0, 40)]);
  }
  return found;
}"""


@pytest.mark.browser
@pytest.mark.nightly
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080)])
def test_no_slide_is_cut_off_or_small_and_their_number_stays(watched, lesson, width, height):
    page = watched(width=width, height=height).open(lesson[0].as_uri() + "#slide=top")
    bar, cut, small, counts = page.locator("#slide-bar"), [], [], {}
    page.wait_for_timeout(3000)  # every slide is counted
    last = ""
    while page.url != last:
        page.wait_for_timeout(1000)
        last, name = page.url, page.url.partition("=")[2]
        bottom = page.locator(".current").bounding_box()
        if (
            bottom["y"] + bottom["height"] > bar.bounding_box()["y"] + 1
            or page.evaluate("document.documentElement.scrollWidth > innerWidth")
            or not page.locator(".current h1, .current h2").count()
        ):
            cut.append(name)
        small += [(name, *text) for text in page.evaluate(TEXTS) if text[0] < 23.9]
        counts.setdefault(page.locator("#slide-bar output").inner_text().partition(" of ")[2], []).append(name)
        page.keyboard.press("PageDown")
    assert not cut
    assert not small
    assert len(counts) == 1, counts


@pytest.mark.browser
def test_a_link_opens_the_second_slide_of_a_picture(watched, lesson):
    page = watched(width=1280, height=720).open(lesson[0].as_uri() + "#slide=ladder-picture-2")
    until(page, "location.hash === '#slide=ladder-picture-2' && document.querySelector('#ladder.current') !== null")
    page.locator("#ladder .marks").wait_for()


@pytest.mark.browser
def test_words_of_the_first_picture_move_and_change_only_what_knows_positions(watched, lesson):
    page = watched().open(lesson[0].as_uri())
    tables = page.locator("#view-hero .cell-table")
    before = [tables.nth(index).locator("td").all_inner_texts() for index in (0, 1)]
    page.locator("#view-hero .word").first.press("ArrowRight")
    after = [tables.nth(index).locator("td").all_inner_texts() for index in (0, 1)]
    assert after[0] == before[0]
    assert after[1] != before[1]
    assert "bites Dog man" in page.locator("#view-hero .readout").inner_text()


@pytest.mark.browser
def test_on_paper_every_view_is_drawn_and_every_answer_shown(watched, lesson):
    page = watched().open(lesson[0].as_uri())
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_timeout(1500)
    for section in SECTIONS:
        if section.has_view:
            assert page.locator(f"#view-{section.name} > *").count(), section.name
    assert page.locator(".answer:visible").count() == page.locator(".answer").count() > 5
    assert page.locator(".evidence:visible").count() == len(lesson[1]["quiz"])
    assert page.locator("#view-beyond .verdicts").is_visible()
    assert "read by the model with" in page.locator("#view-live .on-paper").inner_text()


def test_the_data_cannot_leave_its_element(tmp_path):
    """A sentence of a reader that looks like markup stays data."""
    page = lesson_page({"words": [{"sentence": "</script><script>alert(1)</script>"}]}, "<b>status</b>")
    assert page.count("<script") == 2
    assert "<b>status" not in page
    assert json.loads(page.split('id="data">')[1].split("</script>")[0])["words"][0]["sentence"].startswith("</script>")


@pytest.mark.browser
def test_a_link_reopens_a_view_and_a_button_saves_its_pictures(watched, lesson):
    page = opened(watched, lesson)
    page.locator("#view-waves").get_by_label("Positions", exact=True).press("Home")
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.locator("#view-waves").get_by_role("button", name="Copy link").click()
    link = until(page, "window.copied")
    again = watched().open(link)
    again.locator("#view-waves .keep").wait_for(state="attached")
    assert again.locator("#view-waves").get_by_label("Positions", exact=True).input_value() == "0"
    words = page.locator("#view-words")
    words.get_by_role("button", name="Next order").click()
    shown = words.locator(".chip").all_inner_texts()
    page.evaluate("window.copied = ''")
    words.get_by_role("button", name="Copy link").click()
    again = watched().open(until(page, "window.copied"))
    again.locator("#view-words .keep").wait_for(state="attached")
    assert again.locator("#words .veil").count() == 0, "a link opens what it names"
    assert again.locator("#view-words .chip").all_text_contents() == shown
    with page.expect_download() as saved:
        page.locator("#view-sum").get_by_role("button", name="Save SVG").click()
    written = Path(saved.value.path()).read_text(encoding="utf-8")
    with page.expect_download() as dials:
        page.locator("#view-dials").get_by_role("button", name="Save SVG").click()
    drawn = Path(dials.value.path()).read_text(encoding="utf-8")
    assert drawn.count("<circle") == 8
    assert "revolution in 6.283" in drawn
    assert "var(" not in drawn
    total = lesson[1]["sum"][0]["X"][0][0]
    assert written.startswith("<svg")
    assert f">{total:.2f}<".replace("-", "−") in written
