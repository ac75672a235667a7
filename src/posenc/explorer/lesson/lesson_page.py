"""The lesson as one HTML file: its sections in order, its script, its styles and its numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from posenc.explorer.one_file import BROWSER, element, one_file, tag

FOLDER = Path(__file__).parent
TITLE = "Where does a word stand?"
LEAD = (
    "Positional encoding, from two sentences to the models of today. Predict, touch, break, repair. "
    "25 minutes to read, 10 to teach from."
)


class Section(NamedTuple):
    """A section: text in sections/NAME.html, view in browser/NAME.js; `needs` is the key of its training results.

    Sections that are only read have no slides.
    """

    name: str
    title: str
    needs: str = ""
    has_view: bool = True
    on_slides: bool = True


SECTIONS = (
    Section("words", "Two sentences, one set of words"),
    Section("others", "What recurrence and convolution know"),
    Section("ladder", "The ladder of naive ideas"),
    Section("waves", "Many waves: the encoding of 2017"),
    Section("dials", "Any number, in bits and on dials"),
    Section("sum", "Embedding + encoding"),
    Section("same", "One word at three places"),
    Section("recover", "From a value back to its position"),
    Section("shift", "A step is a rotation"),
    Section("turn", "Turn it by hand"),
    Section("product", "Only the difference is left"),
    Section("shares", "How the pairs add up"),
    Section("distance", "Or say it in the scores"),
    Section("layer", "One sentence through a whole layer"),
    Section("maps", "Where attention looks, before and after training", "maps"),
    Section("ledger", "The ledger"),
    Section("invent", "Invent your own"),
    Section("models", "Six models that differ in nothing else", "models"),
    Section("beyond", "Beyond the training length", "models"),
    Section("longer", "Reaching further: NTK and YaRN", "longer"),
    Section("live", "Run the six models yourself", "live"),
    Section("break", "Break it yourself"),
    Section("layouts", "Two layouts, one encoding"),
    Section("todays", "From pair to today’s models"),
    Section("media", "Images and video"),
    Section("packing", "Packed rows and caches"),
    Section("precision", "What precision does"),
    Section("quiz", "True or false?", on_slides=False),
    Section("exercises", "Exercises", on_slides=False),
    Section("questions", "Questions that learners ask", has_view=False, on_slides=False),
    Section("trust", "How far to trust this", "models", on_slides=False),
    Section("further", "Further reading", has_view=False, on_slides=False),
)
_FORMULA = re.compile(r'<div class="formula">.*?</div>\n?', re.DOTALL)


def lesson_page(data: Mapping[str, Any], status: str) -> str:
    """Build the page; sections without their training results say so, and `status` ("" if complete) is shown on top."""
    entries = "".join(element("li", tag("a", one.title, href=f"#{one.name}")) for one in SECTIONS)
    notice = tag("p", status, **{"class": "status", "role": "status"}) if status else ""
    head = element(
        "div",
        tag("p", "posenc · a lesson", **{"class": "kicker"})
        + tag("h1", TITLE)
        + tag("p", LEAD, **{"class": "lead"})
        + notice
        + '<div id="tools"></div>',
    )
    body = (
        f'<header class="hero" id="top">{head}<div class="view" id="view-hero"></div></header>\n'
        + element("nav", element("ol", entries), **{"aria-label": "Contents", "class": "contents"})
        + element("main", "\n".join(_section(index, one, data) for index, one in enumerate(SECTIONS, 1)))
        + '<div id="slide-bar"></div>'
    )
    return one_file(
        title=f"{TITLE} A lesson on positional encoding",
        description=LEAD,
        entry=FOLDER / "browser" / "lesson.js",
        styles=[BROWSER / "theme.css", FOLDER / "browser" / "lesson.css", FOLDER / "browser" / "today.css"],
        body=body,
        data=data,
    )


def _section(number: int, section: Section, data: Mapping[str, Any]) -> str:
    """Section with text and formula on one side, the view on the other."""
    text = (FOLDER / "sections" / f"{section.name}.html").read_text(encoding="utf-8")
    formula = "".join(_FORMULA.findall(text))
    prediction = text.find("<fieldset")
    guess = text[prediction:] if prediction >= 0 else ""
    words = _FORMULA.sub("", text[:prediction] if prediction >= 0 else text)
    missing = bool(section.needs) and section.needs not in data
    view = (
        tag("p", "This part waits for its training.", **{"class": "waiting"})
        if missing
        else element("div", "", **{"class": "view", "id": f"view-{section.name}"})
    )
    heading = tag("p", f"{number}", **{"class": "ordinal", "aria-hidden": "true"}) + tag(
        "h2", section.title, id=f"{section.name}-title"
    )
    if not section.has_view:
        view = ""
    idea = element("div", f"{heading}\n{words}{formula}{guess}", **{"class": "idea"})
    return element(
        "section",
        f"{idea}\n{view}",
        **{
            "id": section.name,
            "class": "part" if section.on_slides else "part to-read",
            "aria-labelledby": f"{section.name}-title",
        },
    )
