"""Pages as files: text stays text, and a reader never sees half of a page."""

import re
from html.parser import HTMLParser

import pytest

from posenc.explorer.one_file import tag
from posenc.explorer.write_atomically import write_atomically

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
    """What a reader of the page finds: tags, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_adds_no_tag_and_is_shown_as_it_stands(text):
    page = Page(tag("p", text, title=text))
    wanted = re.sub("[\x00\x07\x1b\ud800\uffff]", "\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    assert page.tags == [("p", {"title": wanted})]
    assert page.text == wanted


def test_a_write_that_fails_leaves_the_old_page(tmp_path, monkeypatch):
    path = write_atomically(tmp_path / "page.html", "old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


def test_a_reader_who_has_the_old_page_open_keeps_it_whole(tmp_path):
    path = write_atomically(tmp_path / "page.html", "old")
    with path.open(encoding="utf-8") as reader:
        write_atomically(path, "x" * 100_000)
        assert reader.read() == "old"
    assert path.read_text() == "x" * 100_000


def test_places_that_are_no_file_are_rejected(tmp_path):
    (tmp_path / "target.html").write_text("kept")
    (tmp_path / "link.html").symlink_to(tmp_path / "target.html")
    for path, message in (
        (tmp_path, r"^path must name a file; got the folder"),
        (tmp_path / "none" / "r.html", r"^path must be in an existing folder; got"),
        (tmp_path / "link.html", r"^path must not be a symbolic link; got"),
    ):
        with pytest.raises(ValueError, match=message):
            write_atomically(path, "new")
    for path in ("", "a\0b", 3, None):
        with pytest.raises(TypeError, match=r"^path must name a file; got"):
            write_atomically(path, "new")
    assert (tmp_path / "target.html").read_text() == "kept"
