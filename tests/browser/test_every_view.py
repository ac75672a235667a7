"""Every view of the explorer: opened, each control moved, values read back, judged by axe, seen at three widths.

Long: `make browser` runs these. Screenshots go to build/screenshots, to be looked at.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from every import every
from posenc import CATALOG, parse
from posenc.explorer.explorer_page import Opening, static_page
from posenc.explorer.views import VIEWS

pytestmark = pytest.mark.browser

NAMES = (
    *("heat-map", "curves", "wavelengths", "distance", "heads", "scalings"),
    *("order", "finder", "media", "config", "compare", "claims", "roles"),
)
RECORDS = {"heads": "T5Bias(heads=6)", "scalings": "RoPE(dim=64)", "wavelengths": "RoPE(dim=64)"}
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"

#: Texts that would run where text is parsed as HTML, as an attribute, an address, a template or a script.
HOSTILE = (
    "<script>window.hit=1</script>", "</script><script>window.hit=1</script>", "<img src=x onerror=window.hit=1>",
    '"><img src=x onerror=window.hit=1>', "' onmouseover='window.hit=1", '" onfocus="window.hit=1" autofocus="',
    "<svg onload=window.hit=1>", "<svg><script>window.hit=1</script></svg>", "<body onload=window.hit=1>",
    "<iframe srcdoc='<script>parent.hit=1</script>'>", "<iframe src=javascript:parent.hit=1>",
    "javascript:window.hit=1", "<a href=javascript:window.hit=1>x</a>",
    "<math><mtext><img src=x onerror=window.hit=1></mtext></math>", "<details open ontoggle=window.hit=1>",
    "<input autofocus onfocus=window.hit=1>", "<video><source onerror=window.hit=1>",
    "<audio src=x onerror=window.hit=1>", "<object data=javascript:window.hit=1>",
    "<embed src=javascript:window.hit=1>", "<form><button formaction=javascript:window.hit=1>",
    "<base href=//evil.example/>", "<link rel=import href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>", "<style>@import '//evil.example'</style>",
    "<div style='background:url(//evil.example)'>", "<table background=//evil.example>",
    "<marquee onstart=window.hit=1>", "<select autofocus onfocus=window.hit=1>",
    "<textarea autofocus onfocus=window.hit=1>", "<template><img src=x onerror=hit=1>",
    "<noscript><p title='</noscript><img src=x onerror=window.hit=1>'>",
    "<!--<img src='--><img src=x onerror=window.hit=1>'>", "${window.hit=1}",
    "{{constructor.constructor('window.hit=1')()}}", "`${window.hit=1}`", '\\u003cimg src=x onerror=hit=1>',
    "&lt;img src=x onerror=window.hit=1&gt;", "%3Cimg%20src=x%20onerror=window.hit=1%3E",
    "<img src=x:x onerror	=window.hit=1>", "<IMG SRC=x oNeRrOr=window.hit=1>", "<img/src=x/onerror=window.hit=1>",
    "<<script>window.hit=1;//<</script>", "<svg/onload=window.hit=1//", "<x onclick=window.hit=1>click",
    "<p id=__proto__>", "__proto__", "constructor", "<img name=getElementById>",
    "<form id=data><input name=textContent>", '\u202e<b>right to left</b>', 'a\u2028b\u2029c', "<plaintext>",
    "]]><script>window.hit=1</script>", "'; window.hit=1; //", "\\'; window.hit=1; //",
)  # fmt: skip


def address(server, view, encoding="", **state):
    asked = {"view": view, "encoding": encoding or RECORDS.get(view, "Sinusoidal(dim=16)"), **state}
    from urllib.parse import urlencode

    return f"{server.address}#{urlencode(asked)}"


def settle(page, typed=False):
    """Until nothing is asked or drawn any more; fields of text ask a moment after the last key."""
    if typed:
        page.wait_for_timeout(330)
    page.locator("html:not([data-asking])").wait_for(state="attached")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.locator("html:not([data-asking])").wait_for(state="attached")


def opened(watched, server, view, **options):
    one = watched(**options)
    page = one.open(address(server, view))
    settle(page)
    return one, page


@pytest.mark.parametrize("view", NAMES)
def test_every_control_of_a_view_moves_without_an_error(watched, server, view):
    one, page = opened(watched, server, view)
    assert page.locator("h2").inner_text()
    for index in range(page.locator("main input, main select, main textarea, main button, main summary").count()):
        control = page.locator("main input, main select, main textarea, main button, main summary").nth(index)
        if not control.is_visible() or not control.is_enabled():
            continue
        kind = control.evaluate("(made) => made.type || made.tagName.toLowerCase()")
        if kind == "range":
            for key in ("End", "ArrowLeft", "Home", "ArrowRight", "ArrowRight"):
                control.press(key)
        elif kind == "checkbox" or (
            kind == "button" and "Save" not in control.inner_text() and "Choose" not in control.inner_text()
        ):
            control.click()
        elif kind == "button" and "Save" in control.inner_text():
            with page.expect_download() as saved:
                control.click()
            assert Path(saved.value.path()).stat().st_size > 500
    settle(page)
    assert one.hosts == {f"127.0.0.1:{server.port}"}
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("view", ["heat-map", "curves", "wavelengths", "distance", "heads", "scalings"])
def test_every_slider_draws_another_picture(watched, server, view):
    _, page = opened(watched, server, view)
    picture = """() => [...document.querySelectorAll(".stage canvas, .stage svg")]
        .map((drawn) => (drawn.toDataURL ? drawn.toDataURL() : drawn.outerHTML))
        .concat(document.querySelector(".stage").innerText).join("")"""
    sliders = page.locator("main input[type=range]:visible:enabled")
    assert sliders.count()
    for index in range(sliders.count()):
        before = page.evaluate(picture)
        slider = sliders.nth(index)
        last = slider.evaluate("(made) => Number(made.value) >= Number(made.max)")
        slider.press("ArrowLeft" if last else "ArrowRight")
        settle(page)
        assert page.evaluate(picture) != before, slider.evaluate("(made) => made.labels[0].textContent")


@pytest.mark.parametrize("view", NAMES)
def test_a_link_reopens_the_view_as_it_was(watched, server, view):
    _, page = opened(watched, server, view)
    sliders = page.locator(".view input[type=range]:visible:enabled")
    for index in range(sliders.count()):
        sliders.nth(index).press("ArrowRight")
    settle(page)
    page.wait_for_timeout(250)  # a moved slider writes the address a few times a second
    link, values = (
        server.address + page.url[page.url.index("#") :],
        [sliders.nth(index).input_value() for index in range(sliders.count())],
    )
    again = watched().open(link)
    settle(again)
    sliders = again.locator(".view input[type=range]:visible:enabled")
    assert [sliders.nth(index).input_value() for index in range(sliders.count())] == values


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", NAMES)
def test_axe_finds_no_violation(watched, server, view, scheme):
    from axe_playwright_python.sync_playwright import Axe

    _, page = opened(watched, server, view, scheme=scheme)
    found = axe(page, Axe)
    assert not found, found


def axe(page, kind):
    """The violations, each with its rule and where it is. The test adds the script, past the page's policy."""
    script = Path(__import__("axe_playwright_python").__file__).parent / "axe.min.js"
    page.evaluate(script.read_text(encoding="utf-8") + "; undefined")
    results = page.evaluate("axe.run()")
    assert len(results["passes"]) > 20  # it has looked
    return [(one["id"], [node["html"][:150] for node in one["nodes"]]) for one in results["violations"]]


def test_what_is_read_back_is_what_posenc_computes(watched, server):
    page = watched().open(address(server, "heat-map", "RoPE(dim=8, pairing='halves')", row=0, column=0))
    settle(page)
    page.locator("canvas.heat-map").focus()
    expected = np.asarray(parse.record("RoPE(dim=8, pairing='halves')").rotation(np.arange(32)).sin)
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    text = page.locator(".readout").first.text_content()
    assert text.startswith("position 5, channel 6")
    assert abs(float(text.rpartition(": ")[2].replace("−", "-")) - expected[5, 2]) < 5e-7
    for view, encoding, position in (("distance", "RoPE(dim=64)", 7), ("wavelengths", "RoPE(dim=64)", 3)):
        page = watched().open(address(server, view, encoding))
        settle(page)
        page.locator(".line-plot").focus()
        for _ in range(position + 1):
            page.keyboard.press("ArrowRight")
        text = page.locator(".readout").text_content()
        value = float(re.search(r": ([−\d.e]+)", text)[1].replace("−", "-"))
        facts = VIEWS["distance" if view == "distance" else "spectrum"](encoding=encoding).facts()
        truth = facts["curves"][0]["scores"] if view == "distance" else facts["wavelengths"]
        assert abs(value - truth[position]) <= 1e-5 * abs(truth[position])


def test_every_encoding_of_the_catalog_opens(watched, server):
    page = watched().open(server.address)

    def check(row):
        page.get_by_label("Encoding", exact=True).fill(repr(row.samples[0]))
        settle(page, typed=True)
        assert page.locator(".line").is_hidden(), page.locator(".line").inner_text()
        assert row.name in page.evaluate("decodeURIComponent(location.hash)") or row.encoding.__name__ in page.url

    every(CATALOG, check)


HIT = "() => [window.hit, document.querySelectorAll('img, iframe, object, embed, base, marquee, plaintext').length]"


def test_hostile_text_stays_text_wherever_it_is_typed(watched, server):
    assert len(HOSTILE) >= 50
    page = watched().open(address(server, "order"))
    for text in HOSTILE:
        words = f"{text} bites"
        page.get_by_label("Sentence", exact=True).fill(words)
        page.get_by_label("The same words in another order").fill(" ".join(words.split()[::-1]))
        settle(page, typed=True)
        assert page.evaluate(HIT) == [None, 0], text
        assert page.locator(".line").is_hidden() or "must" in page.locator(".line").inner_text()


def test_hostile_links_and_configs_stay_text(watched, server):
    page = watched().open(address(server, "heat-map"))
    for text in HOSTILE:
        fragment = address(server, "heat-map", f"RoPE(dim={text})", first=text, row=text, extra=text).partition("#")[2]
        page.evaluate("(fragment) => { location.hash = fragment; }", fragment)
        settle(page)
        assert page.evaluate(HIT) == [None, 0], text
    page.evaluate("() => { location.hash = 'view=config'; }")
    page.locator("textarea").wait_for()
    for text in HOSTILE:
        page.locator("textarea").fill(json.dumps({"model_type": text, text: text, "rope_theta": text}))
        settle(page, typed=True)
        assert page.evaluate(HIT) == [None, 0], text
    assert page.locator(".line").is_visible()


def test_a_file_holds_hostile_text_as_text(watched, tmp_path):
    file = tmp_path / "page.html"
    for text in HOSTILE[::5]:  # how a file writes text is tested for all of them in tests/explorer
        config = {"model_type": "llama", "note": text, "rope_theta": 1e4, "hidden_size": 64, "num_attention_heads": 4,
                  "num_hidden_layers": 2, "max_position_embeddings": 4096}  # fmt: skip
        file.write_text(static_page(Opening("RoPE(dim=4)", config, text)), encoding="utf-8")
        one = watched()
        page = one.open(f"{file.as_uri()}#view=config")
        assert page.evaluate("() => [window.hit, document.querySelectorAll('img, iframe, base').length]") == [
            None,
            0,
        ], text
        one.close()


def test_nonsense_that_is_dropped_is_one_line(watched, server, tmp_path):
    _, page = opened(watched, server, "config")
    huge = tmp_path / "model.json"
    with huge.open("wb") as file:
        file.truncate(100 << 20)
    for name, text, line in [
        ("text.json", b"no json at all", "config must be JSON"),
        ("list.json", b"[1, 2]", "config must be a JSON object"),
        ("other.json", b'{"name": "package"}', "model_type must be in the config"),
        ("bytes.json", bytes(range(256)), "config must be JSON"),
    ]:
        (tmp_path / name).write_bytes(text)
        page.set_input_files("input[type=file]", tmp_path / name)
        page.locator(".line", has_text=line).wait_for()
    page.set_input_files("input[type=file]", huge)
    page.locator(".line", has_text="config must be a file of at most 1 MB").wait_for()
    good = tmp_path / "config.json"
    good.write_text(json.dumps({"model_type": "llama", "rope_theta": 5e5, "hidden_size": 64, "num_attention_heads": 4,
                                "num_hidden_layers": 2, "max_position_embeddings": 4096}))  # fmt: skip
    page.set_input_files("input[type=file]", good)
    page.locator(".explained li", has_text="base 500,000").wait_for()
    assert page.locator(".line").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280, 2560])
def test_screenshots_at_three_widths(watched, server, width, scheme):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for view in NAMES:
        one = watched(width=width, height=900 if width < 2000 else 1440, scheme=scheme)
        page = one.open(address(server, view))
        settle(page)
        page.screenshot(path=SCREENSHOTS / f"{view}-{width}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
        one.close()


def test_the_file_answers_every_view_or_says_what_it_needs(watched, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(static_page(Opening("RoPE(dim=16)")), encoding="utf-8")
    page = watched().open(file.as_uri())
    for view in NAMES:
        page.locator(f"nav a[data-view={view}]").click()
        grey = "grey" in (page.locator(f"nav a[data-view={view}]").get_attribute("class") or "")
        settle(page)
        assert page.locator(".line").is_visible() == grey, view
