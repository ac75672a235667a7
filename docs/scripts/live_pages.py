"""Hooks of MkDocs for the whole site: the lesson, the executed lecture, and a live view on the page of every encoding.

The lesson and the views are HTML files without a server, as `posenc tour` and `posenc explore RECORD --output FILE`
write them. The lecture is Markdown and pictures, as nbconvert writes them.
"""

from __future__ import annotations

import re
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
_PICTURE = re.compile(
    r"(?P<cell>^```python\n# (?P<comment>[^\n]*)\n(?:(?!^```python).)*?)!\[svg\]\(", re.MULTILINE | re.DOTALL
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files of the site with the lesson and the live views."""
    lesson = Path(config.config_file_path).parent / config.extra["lesson"]
    if not lesson.exists():
        raise FileNotFoundError(f"lesson must be written before the site; {lesson.name} is missing. Run make site.")
    files.append(File.generated(config, f"{FOLDER}/lesson.html", abs_src_path=str(lesson)))
    for row in CATALOG:
        files.append(File.generated(config, f"{FOLDER}/{file_name(row.name)}.html", content=view(row)))
    for picture in sorted(_lecture(config).parent.glob("lecture_files/*")):
        files.append(File.generated(config, f"lecture_files/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """A page with its button, its live view or its notebook."""
    uri = page.file.src_uri
    if uri in BUTTONS:
        title, rest = markdown.split("\n", 1)
        return f"{title}\n\n{BUTTONS[uri]}\n{rest}"
    if uri == "lecture.md":
        return f"{markdown}\n{executed(_lecture(config).read_text(encoding='utf-8'))}"
    if uri.startswith("encodings/"):
        return markdown.replace("## Claims\n", f"{_live(Path(uri).stem)}## Claims\n", 1)
    return markdown


def view(row: Row) -> str:
    """The explorer on one encoding, as one file: the encoding of its picture where the explorer takes it."""
    return static_page(Opening(encoding=repr(kinds.drawn_encoding(row))))


def executed(notebook: str) -> str:
    """A notebook in Markdown, without its title; a picture is described by the comment that begins its cell."""
    _, body = notebook.split("\n", 1)
    described = _PICTURE.sub(lambda match: f"{match['cell']}![{match['comment']}](", body)
    return f'<div class="notebook" markdown>\n{described}\n</div>\n'


def _lecture(config: MkDocsConfig) -> Path:
    path = Path(config.config_file_path).parent / config.extra["lecture"]
    if not path.exists():
        raise FileNotFoundError(f"lecture must be executed before the site; {path.name} is missing. Run make site.")
    return path


def _live(stem: str) -> str:
    frame = f'<iframe class="live" src="../../{FOLDER}/{stem}.html" title="{stem} in the explorer" loading="lazy">'
    return f"## Live view\n\n[On a page of its own](../{FOLDER}/{stem}.html)\n\n{frame}</iframe>\n\n"
