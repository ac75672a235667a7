"""Hooks of MkDocs for every page: formulas become MathML, pictures load when they are reached."""

from __future__ import annotations

import re
from typing import Any

from generator.mathematics import mathematics

_FORMULA = re.compile(r"^``` \{ \.text \.formula \}\n(.*?)\n```$", re.DOTALL | re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Formulas, which a page has as text for its readers elsewhere, as mathematics."""
    return _FORMULA.sub(lambda match: mathematics(match[1]), markdown)


def on_page_content(html: str, **_: Any) -> str:
    return html.replace("<img ", '<img loading="lazy" ')
