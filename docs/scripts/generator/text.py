"""Text, sources and names as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass

import posenc
from posenc import frequencies

#: Before a page of wide tables: hides the table of contents next to it.
WIDE = "---\nhide:\n  - toc\n---\n\n"


def escaped(text: str) -> str:
    """Plain text as Markdown; code between backticks stays as it is, arXiv numbers become links."""
    pieces = re.split(r"(`[^`]*`)", text)
    plain = (re.sub(r"([\\*\[\]])", r"\\\1", piece).replace("<", "&lt;") for piece in pieces[::2])
    code = [*pieces[1::2], ""]
    return linked("".join(one + other for one, other in zip(plain, code, strict=True)))


def linked(text: str) -> str:
    """The text with its arXiv numbers as links."""
    return re.sub(r"arXiv:(\d{4}\.\d{4,5})", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)


def file_name(name: str) -> str:
    """The name of a row as a file name that is unique on file systems that ignore case."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name.replace("+", " plus ")).strip("-")


def imports(*encodings: object) -> str:
    """The lines that import every class in the repr of these encodings, from its public module."""
    names = {name for encoding in encodings for name in re.findall(r"\b[A-Z]\w*(?=\()", repr(encoding))}
    frequency_classes = names - set(posenc.__all__)
    if not frequency_classes <= set(frequencies.__all__):
        missing = sorted(frequency_classes - set(frequencies.__all__))
        raise ValueError(f"encodings must be of classes that posenc exports; got {missing}. Add them to __all__.")
    sources = {"posenc": names - frequency_classes, "posenc.frequencies": frequency_classes}
    return "\n".join(
        f"from {module} import {', '.join(sorted(classes))}" for module, classes in sources.items() if classes
    )


def short(encoding: object) -> str:
    """The encoding as a user writes it: a call without the fields that have their default."""
    if isinstance(encoding, tuple) and any(map(is_dataclass, encoding)):
        return f"({', '.join(map(short, encoding))},)"
    if not is_dataclass(encoding) or isinstance(encoding, type):
        return repr(encoding)
    shown = [field for field in fields(encoding) if field.init and getattr(encoding, field.name) != field.default]
    return f"{type(encoding).__name__}({', '.join(f'{f.name}={short(getattr(encoding, f.name))}' for f in shown)})"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Rows of cells as a table."""
    header = list(header)
    lines = [header, ["---"] * len(header), *map(list, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
