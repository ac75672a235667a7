"""The docstring of an encoding in parts, as griffe's parser of Google docstrings reads them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import griffe


@dataclass(frozen=True)
class Docstring:
    """The parts of an encoding's docstring: plain text, with the description of each field by its name."""

    formula: str
    prose: list[str]
    arguments: dict[str, str]
    raises: list[tuple[str, str]]
    references: str
    example: str


def docstring(encoding: type) -> Docstring:
    """The docstring of an encoding's class in parts."""
    found = griffe.parse_google(griffe.Docstring(inspect.getdoc(encoding) or ""), warnings=False)
    formula, *prose = next(section.value for section in found if section.kind == "text").split("\n\n")
    arguments, raises, admonitions = {}, [], {}
    for section in found:
        if section.kind == "parameters":
            arguments = {entry.name: _one_line(entry.description) for entry in section.value}
        elif section.kind == "raises":
            raises = [(str(entry.annotation), _one_line(entry.description)) for entry in section.value]
        elif section.kind == "admonition":
            admonitions[section.title] = section.value.description
    references, example = _one_line(admonitions.get("References", "")), admonitions.get("Example", "")
    return Docstring(_one_line(formula), [*map(_one_line, prose)], arguments, raises, references, example)


def _one_line(text: str) -> str:
    return " ".join(text.split())
