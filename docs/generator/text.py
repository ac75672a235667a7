"""Docstrings, sources and names as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass

import posenc
from posenc import frequencies

#: Before a page of wide tables: no contents beside it, which would take their room.
WIDE = "---\nhide:\n  - toc\n---\n\n"


@dataclass(frozen=True)
class Docstring:
    """A docstring in parts: what it begins with, prose and fields as Markdown, and the example."""

    formula: str
    prose: list[str]
    example: str


def parts(text: str, names: Iterable[str]) -> Docstring:
    """A docstring of a record taken apart; `names` are its fields, whose paragraphs become lists."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    formula, *rest = paragraphs
    at = next((place for place, paragraph in enumerate(rest) if ">>>" in paragraph), len(rest))
    known = "|".join(map(re.escape, names)) or "(?!)"
    listed = [markdown for paragraph in rest[:at] for markdown in _paragraph(paragraph, known)]
    return Docstring(formula, listed, "\n\n".join(rest[at:]))


def _paragraph(text: str, known: str) -> list[str]:
    """A paragraph as Markdown: a list where it tells of fields, which stand at the start of a line or behind wide gaps."""
    entry = re.compile(rf"(?:^|\n| {{3,}})((?:{known})(?:(?:, | ≥ | and )(?:{known}))*): ")
    if not entry.match(text):
        return [escaped(_one_line(text))]
    before, *pieces = entry.split(text)
    assert not before, text
    told, tail = [], ""
    for name, said in zip(pieces[::2], pieces[1::2], strict=True):
        said, _, raises = said.partition("\nRaises ")
        tail = f"Raises {raises}" if raises else tail
        told.append(f"- **`{name}`**: {escaped(_one_line(said))}")
    return ["\n".join(told), *([escaped(_one_line(tail))] if tail else [])]


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def escaped(text: str) -> str:
    """Plain text as Markdown that shows it; what stands between backticks stays, arXiv numbers become links."""
    pieces = re.split(r"(`[^`]*`)", text)
    plain = (re.sub(r"([\\*_\[\]])", r"\\\1", piece).replace("<", "&lt;") for piece in pieces[::2])
    code = [*pieces[1::2], ""]
    return linked("".join(one + other for one, other in zip(plain, code, strict=True)))


def linked(text: str) -> str:
    """The text with its arXiv numbers as links."""
    return re.sub(r"arXiv:(\d{4}\.\d{4,5})", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)


def file_name(name: str) -> str:
    """The name of a row as the name of a file, told apart also where letters are small and capital alike."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name.replace("+", " plus ")).strip("-")


def imports(*records: object) -> str:
    """The lines that import what the repr of these records names, each class from where it is public."""
    names = {name for record in records for name in re.findall(r"\b[A-Z]\w*(?=\()", repr(record))}
    ladders = names - set(posenc.__all__)
    if not ladders <= set(frequencies.__all__):
        missing = sorted(ladders - set(frequencies.__all__))
        raise ValueError(f"records must be of classes that posenc exports; got {missing}. Add them to __all__.")
    of = {"posenc": names - ladders, "posenc.frequencies": ladders}
    return "\n".join(f"from {module} import {', '.join(sorted(found))}" for module, found in of.items() if found)


def short(record: object) -> str:
    """The record as one writes it: a call without the fields that stand at their defaults."""
    if isinstance(record, tuple) and any(map(is_dataclass, record)):
        return f"({', '.join(map(short, record))},)"
    if not is_dataclass(record) or isinstance(record, type):
        return repr(record)
    shown = [field for field in fields(record) if field.init and getattr(record, field.name) != field.default]
    return f"{type(record).__name__}({', '.join(f'{f.name}={short(getattr(record, f.name))}' for f in shown)})"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Rows of cells as a table."""
    header = list(header)
    lines = [header, ["---"] * len(header), *map(list, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
