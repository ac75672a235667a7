"""Docstrings of the API reference as Markdown: formulas of encodings as MathML, examples as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

from generator.mathematics import mathematics
from generator.text import escaped

#: Encodings whose docstring begins with their formula.
FORMULAS = ("posenc.encodings.", "posenc.compose.", "posenc.frequencies.scalings.")
_EXAMPLE = re.compile(r"^Examples?:$", re.MULTILINE)


class MarkdownDocstrings(griffe.Extension):
    """Prepares every Google docstring for a page of Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value, obj.is_class and obj.path.startswith(FORMULAS))


def markdown(docstring: str, has_formula: bool) -> str:
    """A Google docstring whose text is Markdown; griffe reads examples under the plural alone."""
    text, *examples = _EXAMPLE.split(docstring, maxsplit=1)
    formula, blank, rest = text.partition("\n\n")
    first = mathematics(formula) if has_formula else escaped(formula)
    return "Examples:".join([first + blank + escaped(rest), *examples])
