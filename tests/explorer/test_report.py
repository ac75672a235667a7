"""The report page: text stays text, the file is whole whenever it is written, and nothing is fetched or run."""

import base64
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser

import pytest

from posenc import plot
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.explorer import Report
from posenc.explorer.page import POLICY

VOID = {"meta", "img", "br", "hr", "link", "input"}

HOSTILE = (
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "</title><script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)", '" onload="alert(1)', "<svg/onload=alert(1)>",
    "<!-- comment", "--> ]]>",
    "javascript:alert(1)", "&lt;script&gt;", "&#60;script&#62;", "&amp;", "a & b < c > d",
    "</p></section></main></body></html>",
    "</code></pre><h1>out</h1>", "</table><b>out</b>", "</details><b>out</b>", "</figcaption><b>out</b>", '"/><b x="',
    "`${alert(1)}`", "{{7*7}}",
    "line\u2028separator\u2029paragraph", "emoji 👩‍🔬 \U0001f600", "right \u202eto left", "nul \x00 byte",
    "bell \x07 escape \x1b[31m",
    "lone \ud800 surrogate", "\ufeffmark", "\uffff noncharacter", "tab\tand\r\nbreak\rreturn", "<a href=//evil>x</a>",
    "<base href=//evil>",
    '<meta http-equiv=refresh content="0;url=//evil">', "<iframe src=//evil>", "<style>@import '//evil'</style>",
    "<plaintext>", "<noscript><p title='</noscript><img src=x>'>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
)  # fmt: skip


class Page(HTMLParser):
    """What a reader of the page finds: balanced tags, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        self.text.append(data)

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


def filled(text: str) -> Report:
    """A report with this text in every place that takes one."""
    report = Report(text, lead=text)
    report.status = text
    section = report.section(text)
    section.text(f"{text}\n\n{text}")
    section.code(text)
    section.heading(text)
    section.bullets([text, text])
    section.table([text, "n"], [[text, 1]], caption=text)
    section.figure(AXES, alt=text, caption=text)
    section.details(text).text(text)
    return report


AXES = plot.curves({"a": ([0, 1], [1.0, 2.0])}, x="x", y="y")


@cache
def plain_page():
    return Page(filled("plain").html())


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_changes_no_tag_and_is_shown_as_it_stands(text, tmp_path):
    path = filled(text).write(tmp_path / "report.html")
    page, plain = Page(path.read_text(encoding="utf-8")), plain_page()
    assert page.open == []
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in plain.tags]
    assert [sorted(attributes) for _, attributes in page.tags] == [sorted(attributes) for _, attributes in plain.tags]
    wanted = re.sub("[\x00\x07\x1b\ud800\uffff]", "\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    shown = "".join(page.text)
    # title, h1, lead, status, contents, h2, two paragraphs, code, h3, two items, caption, header, cell, figcaption,
    # summary, text
    assert shown.count(wanted.strip()) >= 18
    assert page.all("img")[0]["alt"] == wanted


def test_the_corpus_is_large():
    assert len(set(HOSTILE)) >= 40


def test_nothing_can_be_fetched_or_run():
    page = Page(filled("text").html())
    policy = next(meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy == POLICY
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'")
    assert not {tag for tag, _ in page.tags} & {"script", "iframe", "object", "embed", "link", "base", "form"}
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href"):
            assert attributes.get(name, "data:").startswith(("data:", "#")), (tag, attributes)
    assert "@import" not in filled("text").html()
    assert "url(" not in filled("text").html()


def test_the_policy_stands_before_everything_it_governs():
    html = filled("text").html()
    assert html.index("Content-Security-Policy") < html.index("<title") < html.index("<style") < html.index("<img")


def test_language_viewport_and_colour_schemes_are_stated():
    page = Page(Report("Título", language="es").html())
    assert page.all("html")[0]["lang"] == "es"
    names = {meta.get("name"): meta.get("content") for meta in page.all("meta")}
    assert names["viewport"] == "width=device-width, initial-scale=1"
    assert names["color-scheme"] == "light dark"
    html = Report("x").html()
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_headings_have_ids_and_the_contents_lead_to_them():
    report = Report("Page")
    for title in ("Order blindness", "Order blindness", "Größe & Maß", "日本語", "", "Order blindness 2"):
        report.section(title)
    page = Page(report.html())
    ids = [attributes["id"] for attributes in page.all("h2") if "id" in attributes]
    assert ids == [
        "order-blindness",
        "order-blindness-2",
        "grosse-ma" if "grosse-ma" in ids else "groe-ma",
        "section",
        "section-2",
        "order-blindness-2-2",
    ]
    assert [link["href"] for link in page.all("a")] == [f"#{key}" for key in ids]


def test_parts_stand_in_the_order_they_were_added():
    report = Report("Page")
    first, second = report.section("A"), report.section("B")
    second.text("two")
    first.text("one")
    inner = first.details("more")
    first.code("three")
    inner.text("inside")
    body = "".join(Page(report.html()).text)
    order = ["one", "more", "inside", "three", "two"]
    assert sorted(order, key=body.rindex) == order


def test_code_keeps_its_spaces_and_its_first_line_break():
    report = Report("Page")
    report.section("A").code("\n  two\n    four\n")
    assert '<pre tabindex="0">\n<code>\n  two\n    four</code></pre>' in report.html()


def test_numbers_stand_to_the_right_in_a_fixed_form():
    report = Report("Page")
    report.section("A").table(
        ["name", "value"], [["a", 1.23456789], ["b", -0.5], ["c", 12345], ["d", None], ["e", "0.50"], ["f", True]]
    )
    html = report.html()
    for cell in ("1.23457", "\N{MINUS SIGN}0.5", "12345"):
        assert f'<td class="number">{cell}</td>' in html
    for cell in ("–", "0.50", "yes"):
        assert f"<td>{cell}</td>" in html


def test_figures_are_data_with_a_size_and_words():
    report = Report("Page")
    section = report.section("A")
    section.figure(plot.heatmap(Sinusoidal(dim=8)), alt="A heat map", caption="Below")
    section.figure(AXES, alt="A curve")
    section.figure(plot.binary(8, 3), alt="Bits")
    section.figure(AXES.figure, alt="The same curve", kind="png")
    images = Page(report.html()).all("img")
    kinds = ["image/png", "image/svg+xml", "image/png", "image/png"]
    for image, kind in zip(images, kinds, strict=True):
        assert image["src"].startswith(f"data:{kind};base64,")
        assert base64.b64decode(image["src"].split(",", 1)[1], validate=True)
        assert int(image["width"]) > 200
        assert int(image["height"]) > 100
    assert "<figcaption>Below</figcaption>" in report.html()


def test_twenty_five_figures_stay_below_three_megabytes():
    report = Report("Page")
    section = report.section("A")
    for index in range(13):
        section.figure(plot.heatmap(Sinusoidal(dim=128)), alt=f"map {index}")
        section.figure(plot.waves(Sinusoidal(dim=128)), alt=f"waves {index}")
    assert len(report.html().encode()) < 3_000_000


def test_a_report_is_whole_at_any_time(tmp_path):
    report, path = Report("Page"), tmp_path / "r.html"
    report.write(path)
    assert Page(path.read_text()).open == []
    section = report.section("A")
    report.status = "Two of six are done."
    report.write(path)
    assert "Two of six are done." in path.read_text()
    section.text("done")
    report.status = ""
    assert report.write(str(path)) == path
    assert 'class="status"' not in path.read_text()
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.html"]


def test_a_write_that_fails_leaves_the_old_report(tmp_path, monkeypatch):
    report, path = Report("Page"), tmp_path / "r.html"
    report.write(path)
    old = path.read_bytes()
    report.section("more")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        report.write(path)
    assert path.read_bytes() == old
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.html"]


def test_the_same_report_gives_the_same_bytes():
    assert filled("text").html() == filled("text").html()


def test_places_that_are_no_file_are_refused(tmp_path):
    report = Report("Page")
    (tmp_path / "target.html").write_text("kept")
    (tmp_path / "link.html").symlink_to(tmp_path / "target.html")
    for path, message in (
        (tmp_path, r"^path must name a file; got the folder"),
        (tmp_path / "none" / "r.html", r"^path must be in an existing folder; got"),
        (tmp_path / "link.html", r"^path must not be a symbolic link; got"),
    ):
        with pytest.raises(ValueError, match=message):
            report.write(path)
    for path in ("", "a\0b", 3, None):
        with pytest.raises(TypeError, match=r"^path must name a file; got"):
            report.write(path)
    assert (tmp_path / "target.html").read_text() == "kept"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r: Report(3), TypeError, r"^title must be text; got 3"),
        (lambda r: Report("x", lead=None), TypeError, r"^lead must be text"),
        (lambda r: Report("x", language=1), TypeError, r"^language must be text"),
        (lambda r: r.section(None), TypeError, r"^title must be text"),
        (lambda r: r.section("a").text(1.5), TypeError, r"^text must be text; got 1.5"),
        (lambda r: r.section("a").code(b"x"), TypeError, r"^text must be text"),
        (lambda r: r.section("a").heading(1), TypeError, r"^title must be text"),
        (lambda r: r.section("a").bullets([1]), TypeError, r"^items must be text"),
        (lambda r: r.section("a").details(1), TypeError, r"^summary must be text"),
        (
            lambda r: r.section("a").table(["a", "b"], [["x"]]),
            ValueError,
            r"^rows must each hold 2 cells, as the header does; got \['x'\]",
        ),
        (lambda r: r.section("a").table(["a", "b"], ["xy"]), ValueError, r"^rows must each hold 2 cells"),
        (lambda r: r.section("a").table(["a"], [], caption=1), TypeError, r"^caption must be text"),
        (lambda r: r.section("a").figure(AXES, alt=""), ValueError, r"^alt must say what the picture shows"),
        (lambda r: r.section("a").figure(AXES, alt=None), TypeError, r"^alt must be text"),
        (lambda r: r.section("a").figure("x", alt="x"), TypeError, r"^picture must be a matplotlib Figure"),
        (
            lambda r: r.section("a").figure(AXES, alt="x", kind="gif"),
            ValueError,
            r"^kind must be one of 'auto', 'svg', 'png'",
        ),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(Report("Page"))


def test_a_status_that_is_no_text_is_named():
    report = Report("Page")
    report.status = 3
    with pytest.raises(TypeError, match=r"^status must be text"):
        report.html()


def test_a_report_of_words_loads_no_matplotlib(tmp_path):
    program = (
        "import sys\nfrom posenc.explorer import Report\n"
        "Report('x').section('a').text('b')\n"
        "assert 'matplotlib' not in sys.modules and 'torch' not in sys.modules\nprint('clean')"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout.strip()) == (0, "clean"), ran.stderr


def test_a_reader_who_has_the_old_report_open_keeps_it_whole(tmp_path):
    report, path = Report("Page"), tmp_path / "r.html"
    report.write(path)
    old = path.read_text()
    with path.open(encoding="utf-8") as reader:
        report.section("more").text("x" * 100_000)
        report.write(path)
        assert reader.read() == old
    assert path.read_text() != old
