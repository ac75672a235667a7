"""One self-contained page: text, code, tables and figures in order, in a single HTML file that needs no network.

    report = Report("What each encoding did", lead="Six encodings on one text.")
    section = report.section("Order blindness")            # numbered by order, listed in the table of contents
    section.text("Paragraphs.\\n\\nA blank line between two of them.")
    section.code("PE(3, 0) = sin(3 / 10000^(0/8)) = 0.1411")
    section.table(["encoding", "loss"], [["RoPE", 2.113], ["ALiBi", 2.120]], caption="After 300 steps.")
    section.bullets(["one", "two"])
    section.figure(axes, alt="Heat map of ...", caption="Low dimensions are fine.")   # Axes, an array of Axes or a
    Figure section.details("All numbers").code("...")              # folded away; the result takes the same calls
    section.heading("A smaller heading")
    report.status = "Training stopped after 2 of 6 encodings."   # shown under the title; "" shows nothing
    report.write("tour.html")                               # whole and valid whenever it is called, as often as wished

Every call stores finished HTML at once, so a figure may be thrown away after it. All text is escaped;
the page holds no script.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from posenc import _check
from posenc.explorer import page
from posenc.explorer.write_atomically import write_atomically


class Section:
    """A part of a report, filled from top to bottom. Each call adds one thing; made by `Report.section`."""

    def __init__(self, title: str, identifier: str) -> None:
        self.title = title
        self.identifier = identifier
        self._parts: list[str | Section] = []

    def text(self, text: str) -> None:
        """Paragraphs, parted by blank lines."""
        self._parts.append(page.paragraphs(page.plain("text", text)))

    def code(self, text: str) -> None:
        """Text as it stands: every space and line break is kept."""
        self._parts.append(page.code(page.plain("text", text)))

    def heading(self, title: str) -> None:
        """A smaller heading; it is not in the table of contents."""
        self._parts.append(page.tag("h3", page.plain("title", title)))

    def bullets(self, items: Iterable[str]) -> None:
        """A list, one line an item."""
        self._parts.append(page.bullets([page.plain("items", item) for item in items]))

    def table(self, header: Sequence[Any], rows: Iterable[Sequence[Any]], *, caption: str = "") -> None:
        """A table; numbers stand to the right, floats with six digits (give text for another form), None as a dash.

        Raises ValueError naming `rows` where one has not as many cells as the header.
        """
        self._parts.append(page.table(header, list(rows), page.plain("caption", caption)))

    def figure(self, picture: Any, *, alt: str, caption: str = "", kind: str = "auto") -> None:
        """A matplotlib Figure, Axes or array of Axes (its whole figure), drawn into the page.

        alt: what the picture shows, for whoever cannot see it; must not be empty.
        kind: "svg", "png", or "auto": SVG for lines, PNG for heat maps and where an SVG would be large.
        """
        _check.choice("kind", kind, ("auto", "svg", "png"))
        if not page.plain("alt", alt).strip():
            raise ValueError("alt must say what the picture shows; got an empty text. Write a sentence.")
        from posenc.plot.export import image  # only here, so that a report of words needs no matplotlib

        self._parts.append(page.figure(image(picture, kind), alt, page.plain("caption", caption)))

    def details(self, summary: str) -> Section:
        """A part that is folded away under its summary; fill it like a section."""
        inner = Section(page.plain("summary", summary), "")
        self._parts.append(inner)
        return inner

    def html(self) -> str:
        """This part as HTML, without its own heading."""
        return "\n".join(
            part if isinstance(part, str) else page.details(part.title, part.html()) for part in self._parts
        )


class Report:
    """A page under construction: sections in order, written whole whenever `write` is called.

    title: the heading of the page.  lead: a sentence under it.  language: of the text, as HTML names it.
    status: a notice shown under the title, such as what is still missing; settable at any time.

    >>> report = Report("Two numbers")
    >>> report.section("First").table(["name", "value"], [["one & only", 1]])
    >>> "<td>one &amp; only</td>" in report.html()
    True
    """

    def __init__(self, title: str, *, lead: str = "", language: str = "en") -> None:
        self.title = page.plain("title", title)
        self.lead = page.plain("lead", lead)
        self.language = page.plain("language", language)
        self.status = ""
        self._sections: list[Section] = []

    def section(self, title: str) -> Section:
        """A new section at the end, with a heading that can be linked to."""
        section = Section(page.plain("title", title), page.identifier(title, {s.identifier for s in self._sections}))
        self._sections.append(section)
        return section

    def html(self) -> str:
        """The whole page."""
        sections = [(s.identifier, s.title, s.html()) for s in self._sections]
        return page.page(self.title, self.lead, page.plain("status", self.status), sections, self.language)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to `path` atomically, so that a reader never sees half of it. Returns the path.

        Raises ValueError where `path` is no place for a file (a folder, a link, or in a folder that is not there).
        """
        return write_atomically(path, self.html())
