"""What MkDocs adds to the whole site: the lesson, and a live view on the page of every encoding.

Each is one HTML file without a server, as `posenc tour` and `posenc explore RECORD --output FILE` write it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from generator import kinds
from generator.text import file_name
from posenc import CATALOG
from posenc.catalog import Row
from posenc.explorer.explorer_page import Opening, static_page

FOLDER = "live"
BUTTONS = {
    "lesson.md": f"[Open the lesson]({FOLDER}/lesson.html){{ .md-button }}",
    "explorer.md": f"[Open it with a sinusoidal encoding]({FOLDER}/Sinusoidal.html){{ .md-button }}",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files of the site with the lesson and the live views."""
    lesson = Path(config.config_file_path).parent / config.extra["lesson"]
    if not lesson.exists():
        raise FileNotFoundError(f"lesson must be written before the site; {lesson.name} is missing. Run make site.")
    files.append(File.generated(config, f"{FOLDER}/lesson.html", abs_src_path=str(lesson)))
    for row in CATALOG:
        files.append(File.generated(config, f"{FOLDER}/{file_name(row.name)}.html", content=view(row)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """A page with its button or its live view."""
    uri = page.file.src_uri
    if uri in BUTTONS:
        title, rest = markdown.split("\n", 1)
        return f"{title}\n\n{BUTTONS[uri]}\n{rest}"
    if uri.startswith("encodings/"):
        return markdown.replace("## Claims\n", f"{_live(Path(uri).stem)}## Claims\n", 1)
    return markdown


def view(row: Row) -> str:
    """The explorer on one encoding, as one file: the record of its picture where the explorer takes it."""
    return static_page(Opening(record=repr(kinds.drawn_record(row))))


def _live(stem: str) -> str:
    frame = f'<iframe class="live" src="../../{FOLDER}/{stem}.html" title="{stem} in the explorer" loading="lazy">'
    return f"## Live view\n\n[On a page of its own](../{FOLDER}/{stem}.html)\n\n{frame}</iframe>\n\n"
