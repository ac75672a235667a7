"""The explorer in a real browser: what it shows is what posenc computes, and nothing else ever happens on the page."""

import re

import numpy as np
import pytest

from browser.chromium import until
from posenc import RoPE, Sinusoidal
from posenc.explorer import Explorer
from posenc.explorer.explorer_page import Opening, static_page
from posenc.learn import worked


def readout(page):
    return page.locator(".readout").first.text_content()


#: The picture is there, and no question is on its way whose answer would draw another.
SETTLED = "document.querySelector('.plot')?.cellCentre && !document.documentElement.hasAttribute('data-asking')"


def click_cell(page, row, column):
    until(page, SETTLED)
    x, y = page.evaluate(f"document.querySelector('.plot').cellCentre({row}, {column})")
    page.locator("canvas.heat-map").click(position={"x": x, "y": y})


#: Questions reach the server this much later, as from a slow machine.
SLOW_QUESTIONS = """() => {
  const sent = window.fetch;
  window.fetch = async (...asked) => {
    await new Promise((done) => setTimeout(done, 300));
    return sent(...asked);
  };
}"""


def value_of(text):
    return float(text.rpartition(": ")[2].replace("−", "-"))


def test_a_clicked_cell_shows_its_worked_steps_and_its_value(watched, server):
    one = watched()
    page = one.open(server.address)
    click_cell(page, 5, 4)
    page.locator(".worked .step").wait_for()
    expected = worked(Sinusoidal(dim=16), 5, dims=[4])
    text = " ".join(page.locator(".worked .step").inner_text().split())
    assert text == expected.steps[0].text
    assert page.locator(".worked .formula").inner_text() == expected.formula
    assert abs(value_of(readout(page)) - Sinusoidal(dim=16).embed([5])[0, 4]) < 5e-7
    page.keyboard.press("ArrowDown")
    assert readout(page).startswith("position 6, channel 4")
    assert one.hosts == {f"127.0.0.1:{server.port}"}


def test_sliders_change_the_encoding_and_the_picture(watched, server):
    page = watched().open(server.address + "#view=heat-map&encoding=RoPE(dim=8)&row=3&column=2")
    page.locator(".worked .step").wait_for()
    page.evaluate(SLOW_QUESTIONS)
    page.get_by_label("Base", exact=True).press("ArrowRight")
    page.get_by_label("Width", exact=True).press("ArrowRight")
    page.wait_for_url(re.compile("dim%3D12.*base%3D20000"))
    encoding = RoPE(dim=12, base=20_000.0)
    assert page.get_by_label("Encoding", exact=True).input_value() == "RoPE(dim=12, base=20000.0)"
    page.locator(".worked .step", has_text="20000^(2/12)").wait_for()
    assert abs(value_of(readout(page)) - np.cos(3 * encoding.frequencies.radians()[1])) < 5e-7


def test_sliders_show_values_that_they_have_no_place_for(watched, server):
    page = watched().open(server.address + "#view=heat-map&encoding=RoPE(dim=80,base=150000)&positions=10&first=2.5")
    until(page, SETTLED)

    def shown(label):
        return page.locator(".slider", has=page.get_by_label(label, exact=True)).locator("output").inner_text()

    values = {label: shown(label) for label in ("Width", "Base", "Positions", "First position")}
    assert values == {"Width": "80", "Base": "150000", "Positions": "10", "First position": "2.5"}
    page.get_by_label("Width", exact=True).press("ArrowRight")
    page.wait_for_url(re.compile("dim%3D96.*base%3D150000"))
    assert shown("Width") == "96"
    grid = "AxialRoPE(axis=(0, 1), frequency_index=(0, 0), frequency_dim=2)"
    page.get_by_label("Encoding", exact=True).fill(grid)
    page.wait_for_url(re.compile("AxialRoPE"))
    until(page, SETTLED)
    assert shown("Positions") == "9"  # 3 times 3 for about 10
    cube = "AxialRoPE(axis=(0, 1, 2), frequency_index=(0, 0, 0), frequency_dim=2)"
    page = watched().open(server.address + f"#view=heat-map&encoding={cube}&positions=16")
    until(page, SETTLED)
    assert shown("Positions") == "27"  # 3 times 3 times 3 for about 16
    page.get_by_label("Positions", exact=True).press("ArrowLeft")  # from where it was put, not from 27
    page.wait_for_url(re.compile("positions=8"))
    until(page, SETTLED)
    assert shown("Positions") == "8"


def test_the_finder_takes_a_dimension_once(watched, server):
    page = watched().open(server.address + "#view=finder&width=100")
    assert page.locator(".view .slider output").inner_text() == "100"
    page.get_by_label("Dimension = value").fill("8 = 0.9\n08 = 0.5")
    page.locator(".line", has_text="values must name a dimension once; got 8 twice").wait_for()


@pytest.mark.browser
def test_a_slider_that_is_dragged_writes_few_addresses_and_the_last_one(watched, server):
    page = watched().open(server.address)
    page.locator("canvas.heat-map").wait_for()
    drag = """() => {
      let written = 0;
      const replace = history.replaceState.bind(history);
      history.replaceState = (...asked) => { written += 1; replace(...asked); };
      const slider = [...document.querySelectorAll("input[type=range]")].find((one) =>
        one.labels[0].textContent === "First position");
      for (let value = 1; value <= 300; value += 1) {
        slider.value = value;
        slider.dispatchEvent(new Event("input"));
      }
      return new Promise((done) => setTimeout(() => done(written), 500));
    }"""
    assert 1 <= page.evaluate(drag) <= 3
    assert page.url.endswith("first=300")


def test_an_encoding_that_does_not_parse_is_one_line_and_the_page_stays_usable(watched, server):
    page = watched().open(server.address)
    field = page.get_by_label("Encoding", exact=True)
    field.fill("RoPE(dim=<img src=x onerror=alert(1)>")
    page.locator(".line", has_text="encoding must").wait_for()
    field.fill("ALiBi(heads=4)")
    page.locator(".line").wait_for(state="hidden")
    click_cell(page, 3, 1)
    page.locator(".worked .step").wait_for()
    assert re.search(r"= -0\.5$", " ".join(page.locator(".worked .step").inner_text().split()))


def test_one_file_shows_the_same_without_a_server(watched, tmp_path):
    file = tmp_path / "explorer.html"
    file.write_text(static_page(Opening("RoPE(dim=8)")), encoding="utf-8")
    one = watched()
    page = one.open(file.as_uri())
    click_cell(page, 3, 2)
    page.locator(".worked .step").wait_for()
    assert "0.9553" in page.locator(".worked .step").inner_text()
    assert page.get_by_label("Encoding", exact=True).is_disabled()
    assert page.get_by_label("Positions", exact=True).is_enabled()
    assert one.hosts == {""}


def test_a_notebook_shows_it_in_a_frame_of_its_own(watched, tmp_path):
    file = tmp_path / "notebook.html"
    file.write_text(f"<!DOCTYPE html><title>cell</title>{Explorer(RoPE(dim=4))._repr_html_()}", encoding="utf-8")
    one = watched()
    frame = one.open(file.as_uri()).frame_locator("iframe")
    frame.locator("canvas.heat-map").focus()
    frame.locator("canvas.heat-map").press("ArrowDown")
    frame.locator(".worked .step", has_text="pair 0").wait_for()
    assert one.hosts <= {"", "srcdoc"}


def view_title(page):
    return page.locator("#view-title").text_content()


def test_an_error_clears_what_was_drawn_and_offers_what_fits(watched, server):
    page = watched().open(server.address + "#view=heads&encoding=ALiBi(heads=4)")
    page.locator(".stage canvas").first.wait_for()
    page.get_by_label("Encoding", exact=True).fill("RoPE(dim=8)")
    page.locator(".line", has_text="encoding must bias logits").wait_for()
    assert page.locator(".stage :visible").count() == 0
    page.get_by_role("button", name="ALiBi(heads=8)").click()
    page.locator(".line").wait_for(state="hidden")
    page.locator(".stage canvas").nth(7).wait_for()
    page.get_by_role("link", name="A model", exact=True).click()
    page.locator(".explained .group").first.wait_for()
    page.locator(".drop textarea").fill('{"model_type": "unheard of"}')
    page.locator(".line", has_text="model_type must be one that is known").wait_for()
    assert (page.locator(".explained").is_visible(), page.locator(".drop textarea").is_visible()) == (False, True)


def test_back_goes_to_the_view_before(watched, server):
    page = watched().open(server.address)
    for name in ("Curves", "Wavelengths"):
        page.get_by_role("link", name=name, exact=True).click()
        page.locator("#view-title", has_text=name).wait_for()
    page.go_back()
    page.locator("#view-title", has_text="Curves").wait_for()
    page.go_back()
    page.locator("#view-title", has_text="Heat map").wait_for()
    assert view_title(page) == "Heat map"


COPIED = "() => { window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text); }; }"
PASTED = """(text) => {
  const pasted = new DataTransfer();
  pasted.setData("text", text);
  document.dispatchEvent(new ClipboardEvent("paste", { clipboardData: pasted, cancelable: true }));
}"""


def test_a_shared_link_opens_in_another_explorer_and_holds_neither_port_nor_token(watched, server):
    from browser.server import TOKEN, served

    page = watched().open(server.address + "#view=config")
    page.evaluate(COPIED)
    config = '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3}'
    page.locator(".drop textarea").fill(config)
    page.locator(".group", has_text="3 layers").wait_for()
    page.get_by_role("button", name="Copy link").click()
    until(page, "copied.length")
    (link,) = page.evaluate("copied")
    assert link.startswith("#view=config&")
    for address in (link, page.url):
        assert TOKEN not in address
    assert str(server.port) not in link
    with served() as other:
        second = watched().open(other.address)
        second.locator("canvas.heat-map").wait_for()
        second.evaluate(PASTED, f"look: {link} there")
        second.locator(".group", has_text="3 layers").wait_for()


def test_a_reload_goes_on_without_the_token_in_the_address(watched, server):
    from browser.server import TOKEN

    page = watched().open(server.address + "#view=curves")
    page.locator("#view-title", has_text="Curves").wait_for()
    assert TOKEN not in page.url
    page.reload()
    page.locator("#view-title", has_text="Curves").wait_for()
    assert view_title(page) == "Curves"
    assert TOKEN not in page.url


@pytest.mark.browser
@pytest.mark.parametrize("view", ["heat-map", "curves", "wavelengths", "distance", "scalings"])
def test_the_picture_is_seen_without_scrolling(watched, server, view):
    page = watched(height=720).open(server.address + f"#view={view}&encoding=RoPE(dim=64)")
    picture = page.locator(".stage .plot").first
    picture.wait_for()
    until(page, "document.querySelector('.stage .plot').getBoundingClientRect().height > 200")  # it is drawn
    until(page, "!document.documentElement.hasAttribute('data-asking')")
    box = picture.bounding_box()
    assert box["y"] + box["height"] <= 720
