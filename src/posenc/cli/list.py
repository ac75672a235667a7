"""`posenc list`: the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from posenc.catalog import CATALOG, row
from posenc.cli import show
from posenc.row import Row


@dataclass(frozen=True)
class List:
    """Every encoding with its door, what is claimed (and tested) of it, and its paper.

    Doors: adds to the embeddings, rotates queries and keys, biases the logits, scores content against position.

    examples:
      posenc list
      posenc list RoPE
      posenc list --door biases
      posenc list --json
    """

    name: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="NAME")] = None
    """One encoding, with its samples, its names elsewhere and when to use it."""

    door: Annotated[str | None, tyro.conf.arg(metavar="DOOR")] = None
    """adds, rotates, biases or scores."""

    json: bool = False
    """Print JSON."""

    def run(self) -> int:
        rows = [row(self.name)] if self.name else list(CATALOG)
        if self.door is not None:
            doors = sorted({candidate.encoding.door for candidate in CATALOG})
            if self.door not in doors:
                raise ValueError(f"door must be one of {', '.join(doors)}; got {self.door!r}. Choose one of these.")
            rows = [candidate for candidate in rows if candidate.encoding.door == self.door]
        if self.json:
            print(show.as_json([_facts(candidate) for candidate in rows]))
        elif self.name:
            _one(rows)
        else:
            cells = [(r.name, r.encoding.door, ", ".join(_claims(r)), r.paper) for r in rows]
            show.table(("name", "door", "claims", "paper"), cells)
        return 0


def _claims(candidate: Row) -> list[str]:
    return sorted(str(claim) for claim in candidate.samples[0].claims)


def _facts(candidate: Row) -> dict[str, Any]:
    return {
        "name": candidate.name,
        "door": candidate.encoding.door,
        "claims": _claims(candidate),
        "paper": candidate.paper,
        "elsewhere": candidate.elsewhere,
        "use": candidate.use,
        "samples": candidate.samples,
    }


def _one(rows: list[Row]) -> None:
    for candidate in rows:
        show.heading(candidate.name)
        show.say(
            f"door       {candidate.encoding.door}",
            f"claims     {', '.join(_claims(candidate)) or 'none'}",
            f"paper      {candidate.paper}",
            f"elsewhere  {', '.join(candidate.elsewhere)}",
            f"use        {candidate.use}",
            *(f"{'samples' if not i else '':<11}{sample!r}" for i, sample in enumerate(candidate.samples)),
        )
