"""The whole site: every encoding's page shows its live view, and two pages lead to the lesson and the explorer."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files

import live_pages
import posenc
from generator.text import file_name

ROOT = Path(__file__).parents[2]


def shown(uri: str, config: MkDocsConfig) -> str:
    page = SimpleNamespace(file=SimpleNamespace(src_uri=uri))
    return live_pages.on_page_markdown((ROOT / "docs" / uri).read_text(encoding="utf-8"), page=page, config=config)


def test_pages_show_and_link_the_files_that_are_added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(live_pages, "view", lambda row: f"<p>{row.name}</p>")
    lesson = tmp_path / "lesson.html"
    config = load_config(str(ROOT / "mkdocs-site.yml"))
    config.extra |= {"lesson": str(lesson), "lecture": str(ROOT / "docs" / "lecture.md")}  # one without pictures
    monkeypatch.setattr(config.plugins, "_current_plugin", "hook", raising=False)  # MkDocs sets it while it builds
    with pytest.raises(FileNotFoundError, match=r"lesson must be written before the site; lesson\.html is missing"):
        live_pages.on_files(Files([]), config)
    lesson.write_text("lesson", encoding="utf-8")
    added = {file.src_uri for file in live_pages.on_files(Files([]), config)}
    stems = [file_name(row.name) for row in posenc.CATALOG]
    assert added == {"live/lesson.html", *(f"live/{stem}.html" for stem in stems)}
    for stem in stems:
        assert f'src="../../live/{stem}.html"' in shown(f"encodings/{stem}.md", config)
    assert "(live/lesson.html)" in shown("lesson.md", config)
    assert "(live/Sinusoidal.html)" in shown("explorer.md", config)
    assert shown("glossary.md", config) == (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


@pytest.mark.nightly
@pytest.mark.parametrize("row", posenc.CATALOG)
def test_every_encoding_has_a_live_view_that_asks_no_other_host(row: posenc.Row) -> None:
    page = live_pages.view(row)
    assert "connect-src 'none'" in page
    assert 'src="http' not in page
