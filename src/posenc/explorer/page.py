"""The page's HTML: every piece of text is escaped here, and nowhere else is a tag written."""

from __future__ import annotations

import base64
import html
import numbers
import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import Any, Protocol

from posenc import _check
from posenc.explorer.style import STYLE

#: Nothing may be fetched, run, framed or sent; pictures are data, styles stand in the page.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

# NUL, the other control characters and lone surrogates have no place in HTML and would end it or fail to encode.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


class Picture(Protocol):
    """An image as bytes, with its media type and its size in CSS pixels."""

    @property
    def data(self) -> bytes: ...
    @property
    def media(self) -> str: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...


def plain(name: str, text: Any) -> str:
    """The argument, if it is text."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be text; got {_check.shown(text)}. Convert it with str().")
    return text


def escape(text: str) -> str:
    """Text that is safe in an element and in a quoted attribute."""
    text = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n"))
    return html.escape(text, quote=True).replace("\u2028", "&#x2028;").replace("\u2029", "&#x2029;")


def tag(name: str, text: str, **attributes: str) -> str:
    """An element that holds text."""
    return element(name, escape(text), **attributes)


def element(name: str, inner: str, **attributes: str) -> str:
    """An element that holds finished HTML."""
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{inner}</{name}>"


def paragraphs(text: str) -> str:
    return "\n".join(
        tag("p", part.strip()) for part in re.split(r"\n\s*\n", text.replace("\r\n", "\n")) if part.strip()
    )


def code(text: str) -> str:
    # The parser drops one line break after <pre>; a second one keeps text that begins with one. Tab reaches it, so that
    # long lines can be scrolled without a mouse.
    return element("pre", "\n" + tag("code", text.rstrip("\n")), tabindex="0")


def bullets(items: Sequence[str]) -> str:
    return element("ul", "".join(tag("li", item) for item in items))


def details(summary: str, inner: str) -> str:
    return element("details", tag("summary", summary) + "\n" + inner)


def table(header: Sequence[Any], rows: Sequence[Sequence[Any]], caption: str) -> str:
    """A table in a frame that scrolls sideways on a narrow screen."""
    for row in rows:
        if isinstance(row, str) or len(row) != len(header):
            raise ValueError(
                f"rows must each hold {len(header)} cells, as the header does; got {_check.shown(row)}. "
                "Fill in or cut the row."
            )
    right = [
        bool(rows) and all(_is_number(row[column]) or row[column] is None for row in rows)
        for column in range(len(header))
    ]
    top = "".join(_cell("th", cell, right[column], scope="col") for column, cell in enumerate(header))
    body = "\n".join("<tr>" + "".join(_cell("td", cell, _is_number(cell)) for cell in row) + "</tr>" for row in rows)
    inner = (
        tag("caption", caption) if caption else ""
    ) + f"\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody>\n"
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption or "Table")}">'
        + element("table", inner)
        + "</div>"
    )


def _cell(name: str, value: Any, right: bool, **attributes: str) -> str:
    if right:
        attributes["class"] = "number"
    return tag(name, _written(value), **attributes)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _written(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        return f"{float(value):.6g}".replace("-", "\N{MINUS SIGN}", 1) if float(value) < 0 else f"{float(value):.6g}"
    return str(value)


def figure(picture: Picture, alt: str, caption: str) -> str:
    source = f"data:{picture.media};base64,{base64.b64encode(picture.data).decode('ascii')}"
    image = f'<img src="{source}" alt="{escape(alt)}" width="{picture.width}" height="{picture.height}">'
    return element("figure", image + (tag("figcaption", caption) if caption else ""))


def identifier(title: str, taken: Collection[str]) -> str:
    """A heading's id: plain letters from its title, with a number where it is taken."""
    letters = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode("ascii").lower()
    base = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")[:60] or "section"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    return name


def page(title: str, lead: str, status: str, sections: Sequence[tuple[str, str, str]], language: str) -> str:
    """The whole document; each section is (id, title, finished HTML)."""
    entries = "".join(element("li", tag("a", name, href=f"#{key}")) for key, name, _ in sections)
    contents = (
        element("nav", tag("h2", "Contents") + element("ol", entries), **{"aria-label": "Contents"}) if sections else ""
    )
    body = "\n\n".join(
        element("section", f"\n{tag('h2', name, id=key)}\n{inner}\n", **{"aria-labelledby": key})
        for key, name, inner in sections
    )
    head = tag("h1", title) + (tag("p", lead, **{"class": "lead"}) if lead else "")
    notice = tag("p", status, **{"class": "status", "role": "status"}) if status else ""
    return f"""<!DOCTYPE html>
<html lang="{escape(language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(POLICY).replace("&#x27;", "'")}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
{tag("title", title)}
<style>
{STYLE}</style>
</head>
<body>
<header>{head}{notice}</header>
{contents}
<main>
{body}
</main>
</body>
</html>
"""
