"""docs/conventions.md: each peer's choice, how posenc writes it, and the size of the difference, measured where it can be."""

from __future__ import annotations

import json
from pathlib import Path

from generator.choices import CHOICES, Choice
from generator.text import WIDE, table

FIGURES = Path(__file__).parent.parent / "conventions.json"


def page() -> str:
    """The whole page."""
    kept = json.loads(FIGURES.read_text(encoding="utf-8"))
    versions = ", ".join(f"{name} {version}" for name, version in kept["versions"].items())
    topics = dict.fromkeys(choice.topic for choice in CHOICES)
    parts = [
        WIDE + "# Conventions, and how far they lie apart",
        "The same name means different numbers in different libraries, and nothing warns of it. Each line is one library's choice, how "
        "posenc writes it, and the size of the difference. A figure marked *measured* comes from a run against the live library and is "
        f"measured again by `pytest -m parity`; a computed one is computed again there; the others name where they were read. Versions: {versions}.",
        *(_section(topic, kept["figures"]) for topic in topics),
    ]
    return "\n\n".join(parts) + "\n"


def _section(topic: str, figures: dict[str, float]) -> str:
    rows = (
        (
            choice.peer,
            choice.theirs,
            choice.ours,
            f"{_size(choice, figures)} (*{choice.source or 'measured'}*)",
        )
        for choice in CHOICES
        if choice.topic == topic
    )
    return f"## {topic}\n\n" + table(["who", "what it does", "in posenc", "size of the difference (*evidence*)"], rows)


def _size(choice: Choice, figures: dict[str, float]) -> str:
    return choice.size.format(figures[choice.figure]) if choice.figure else choice.size
