"""The encodings by picture: a page of all of them, and the few that the README and the first page show."""

from __future__ import annotations

import posenc
from generator import kinds
from generator.text import WIDE, escaped, file_name
from posenc.catalog import Row
from posenc.encodings.adds.nope import NoPE

#: What each door does, and its method.
WAYS = {
    "adds": ("a vector for each position, added to the token embedding", "`embed(positions)`"),
    "rotates": ("a rotation of queries and keys", "`rotation(positions)`"),
    "biases": ("a number for (head, query position, key position)", "`matrix(query_positions, key_positions)`"),
    "scores": ("a term of the logits that reads content and position", "`score(q, k, query_positions, key_positions)`"),
}
#: The encodings of each door that stand for the others.
SHOWN = {
    "adds": ("Sinusoidal", "Learned", "GridSinusoidal"),
    "rotates": ("RoPE", "AxialRoPE", "YaRN"),
    "biases": ("ALiBi", "T5Bias", "FIRE"),
    "scores": ("Shaw", "DeBERTa", "CoPE"),
}


def page() -> str:
    """The page of all pictures, door by door."""
    head = (
        f"{WIDE}# Gallery\n\nEvery encoding by its picture. Click one for its formula, source, claims and code; "
        "[one table](encodings.md) lists them by name, and [Choosing](choosing.md) says which one to use."
    )
    return "\n\n".join([head, *map(_section, WAYS)]) + "\n"


def thumbnail(name: str, docs: str) -> str:
    """A picture and its name, which lead to the encoding's page; `docs` leads to the folder of the pages."""
    stem = file_name(name)
    return f"[![{name}]({docs}images/encodings/{stem}.png)<br>{name}]({docs}encodings/{stem}.md)"


def _section(door: str) -> str:
    rows = [row for row in posenc.CATALOG if row.samples[0].door == door]
    rows.sort(key=lambda row: row.encoding is NoPE)  # its picture is blank: nobody should meet it first
    shown = sorted({kinds.kind(row) for row in rows})
    meanings = "\n".join(f"- {kinds.CAPTIONS[kind]}" for kind in shown)
    return "\n\n".join(
        [
            f"## {door.capitalize()}",
            f"{WAYS[door][0].capitalize()}: {WAYS[door][1]}. A picture shows one of these:",
            meanings,
            '<div class="gallery" markdown>',
            *map(_figure, rows),
            "</div>",
        ]
    )


def _figure(row: Row) -> str:
    stem = file_name(row.name)
    return (
        f"[![{row.name}: {kinds.CAPTIONS[kinds.kind(row)]}](images/encodings/{stem}.png) **{row.name}**]"
        f"(encodings/{stem}.md) {escaped(row.use)}"
    )
