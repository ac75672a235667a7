"""docs/conventions.md: each peer's choice, how posenc writes it, and the size of the difference."""

from __future__ import annotations

import json
from pathlib import Path

from generator.choices import CHOICES, Choice
from generator.text import WIDE, table

FIGURES = Path(__file__).parents[2] / "conventions.json"


def page() -> str:
    """The whole page."""
    kept = json.loads(FIGURES.read_text(encoding="utf-8"))
    versions = ", ".join(f"{name} {version}" for name, version in kept["versions"].items())
    topics = dict.fromkeys(choice.topic for choice in CHOICES)
    parts = [
        WIDE + "# Conventions, and how much they differ",
        "The same name stands for different numbers in different libraries, without a warning. Each line shows the "
        "choice of one library, how to get the same from posenc, and the size of the difference. A figure marked "
        "*measured* comes from a run against the live library. `pytest -m parity` measures these figures again, and "
        f"recomputes the computed ones; the others name the file in which they were read. Versions: {versions}.",
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
