"""What the API reference does to docstrings before they become HTML: formulas as MathML, fields as lists."""

from __future__ import annotations

from typing import Any

import griffe

from generator.mathematics import mathematics
from generator.text import escaped, parts

#: Encodings whose docstring begins with their formula.
FORMULAS = ("posenc.encodings.", "posenc.compose.", "posenc.frequencies.scalings.")


class Docstrings(griffe.Extension):
    """Writes the docstring of every object as Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            names = obj.parameters if isinstance(obj, griffe.Function) else obj.attributes
            obj.docstring.value = markdown(obj.docstring.value, [one.name for one in _named(names)], _has_formula(obj))


def markdown(docstring: str, names: list[str], has_formula: bool) -> str:
    """A docstring as Markdown; `names` are its fields or arguments."""
    told = parts(docstring, names)
    first = mathematics(told.formula) if has_formula else escaped(told.formula)
    example = f"```python\n{told.example}\n```" if told.example else ""
    return "\n\n".join(part for part in (first, *told.prose, example) if part)


def _named(names: Any) -> Any:
    return names.values() if isinstance(names, dict) else names


def _has_formula(obj: griffe.Object) -> bool:
    return obj.is_class and obj.path.startswith(FORMULAS)
