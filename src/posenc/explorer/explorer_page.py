"""The explorer's page: for the local server, and as one file in which what needs Python is greyed out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.catalog import CATALOG
from posenc.core.doors import AdditiveEncoding, RotaryEncoding
from posenc.explorer.one_file import BROWSER, linked, one_file, policy, tag
from posenc.explorer.views import VIEWS
from posenc.explorer.views.table_view import TableView
from posenc.explorer.views.view import encoding_of
from posenc.inspect.encoding_facts import width_of

FOLDER = BROWSER / "explorer"
ENTRY = FOLDER / "main.js"
ENTRANCE = FOLDER / "without_token.js"
STYLES = (BROWSER / "theme.css", FOLDER / "explorer.css")
TITLE = "posenc explorer"
FIRST_ENCODING = "Sinusoidal(dim=16)"
#: Rows and columns of which a static file holds the worked steps.
WORKED_ROWS, WORKED_COLUMNS = 16, 32

BODY = """<a class="skip" href="#view">Skip to the view</a>
<div id="app"><noscript>The explorer needs JavaScript, which draws its pictures.</noscript></div>"""


@dataclass(frozen=True)
class Opening:
    """Initial state of the page: an encoding, a config, or results of `posenc compare`.

    Attributes:
        encoding: Encoding as text.
        config: Config of a model as a plain dict.
        name: Name of its file.
        results: Results as `results_view.results` reads them.
    """

    encoding: str = FIRST_ENCODING
    config: Mapping[str, Any] | None = None
    name: str = ""
    results: Mapping[str, Any] | None = None

    @property
    def view(self) -> str:
        """Name of the view that opens; "" for the first of the list."""
        return "results" if self.results is not None else "config" if self.config is not None else ""


def live_page(opening: Opening, token: str) -> tuple[str, str]:
    """Build the local server's page, whose requests carry `token`; return it with its content security policy."""
    answers = [_answer("table", {"encoding": opening.encoding}), *_results(opening)]
    data = {**_data(opening), "token": token, "answers": answers}
    page = one_file(title=TITLE, entry=ENTRY, styles=STYLES, body=BODY, data=data, connect=True)
    style = "".join(path.read_text(encoding="utf-8") for path in STYLES)
    return page, policy(linked(ENTRY), style, connect=True)


def page_without_token(line: str) -> tuple[str, str]:
    """Page for an address without the token, as after a reload, with its content security policy.

    It holds nothing but this line; the tab that opened the explorer goes on with the token that it keeps.
    """
    page = one_file(title=TITLE, entry=ENTRANCE, styles=(), body=tag("p", line))
    return page, policy(linked(ENTRANCE), "", connect=False)


def static_page(opening: Opening) -> str:
    """Build the page as one self-contained file that holds the answers of its views, for use without a server.

    Example:
        >>> page = static_page(Opening("RoPE(dim=4)"))
        >>> "connect-src 'none'" in page
        True
    """
    found = [_answer(view, asked) for view, asked in _questions(opening)]
    answers = [*(one for one in found if one is not None), *_results(opening)]
    return one_file(
        title=TITLE, entry=ENTRY, styles=STYLES, body=BODY, data={**_data(opening), "token": "", "answers": answers}
    )


def _data(opening: Opening) -> dict[str, Any]:
    catalog = [
        {
            "name": row.name,
            "door": row.encoding.door,
            "encodings": [repr(sample) for sample in row.samples],
            "paper": row.paper,
            "use": row.use,
        }
        for row in CATALOG
    ]
    config = None if opening.config is None else {"name": opening.name, "config": opening.config}
    return {"catalog": catalog, "encoding": opening.encoding, "opened": config, "first": opening.view}


def _results(opening: Opening) -> list[dict[str, Any]]:
    """Results as the stored answer to the results view, which the server cannot be asked for; [] without results."""
    return [] if opening.results is None else [{"view": "results", "asked": {}, "facts": opening.results}]


def _answer(view: str, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """A question with its answer; None where the encoding has no such view."""
    try:
        return {"view": view, "asked": dict(asked), "facts": VIEWS[view](**asked).facts()}
    except (ValueError, TypeError):
        return None


def _questions(opening: Opening) -> list[tuple[str, dict[str, Any]]]:
    """Questions (view, fields) that a static page answers: each view with default fields, and the first cells."""
    encoding = {"encoding": opening.encoding}
    views = [(name, encoding) for name in ("table", "spectrum", "distance", "heads", "scalings")]
    return [
        *views,
        ("order", {}),
        ("finder", {"values": {"1088": "0.488814"}, "dim": 5120, "base": 10_000}),
        *([] if opening.config is None else [("config", {"config": opening.config})]),
        *_cells(opening.encoding),
    ]


def _cells(text: str) -> list[tuple[str, dict[str, Any]]]:
    encoding = encoding_of("encoding", text)
    rows = TableView(encoding=text).rows(encoding)[:WORKED_ROWS]
    if isinstance(encoding, AdditiveEncoding | RotaryEncoding):
        columns: list[dict[str, Any]] = [{"column": one} for one in range(min(width_of(encoding), WORKED_COLUMNS))]
    else:
        columns = [{"key": key} for key in np.asarray(rows).tolist()]
    return [
        ("cell", {"encoding": text, "position": row, **column})
        for row in np.asarray(rows).tolist()
        for column in columns
    ]
