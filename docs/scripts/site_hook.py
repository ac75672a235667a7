"""Hooks of MkDocs for every page: formulas become MathML, prompts can be left out of copies, pictures load late."""

from __future__ import annotations

import re
from typing import Any

from generator.mathematics import mathematics

#: A fence of Python that shows prompts. Under its own name, site.css tells prompts and outputs from code.
_PROMPTS = re.compile(r"^```python\n(?=>>> )", re.MULTILINE)
_FORMULA = re.compile(r"^``` \{ \.text \.formula \}\n(.*?)\n```$", re.DOTALL | re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace formulas, which are text for readers elsewhere, and name the language of examples with prompts."""
    return _FORMULA.sub(lambda match: mathematics(match[1]), _PROMPTS.sub("```pycon\n", markdown))


def on_page_content(html: str, **_: Any) -> str:
    return html.replace("<img ", '<img loading="lazy" ')
