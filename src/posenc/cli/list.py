"""`posenc list`: the catalog, and the models that are known by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from posenc.catalog import CATALOG, row
from posenc.cli.answer import Answer, Heading, Verb, attributes, columns
from posenc.cli.explain_model import list_model, list_models, model_advice, named_model
from posenc.core.row import Row


@dataclass(frozen=True)
class ListVerb(Verb):
    """List every encoding with its door, what is claimed (and tested) of it, and its paper.

    Doors: adds to the embeddings, rotates queries and keys, biases the logits, scores content against position.

    Some examples:
      posenc list
      posenc list RoPE
      posenc list --door biases
      posenc list gpt2
      posenc list --models
      posenc list --json
    """

    name: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="NAME")] = None
    """An encoding, to see its samples, its names elsewhere and when to use it; or a released model, gpt2 say."""

    door: Annotated[str | None, tyro.conf.arg(metavar="DOOR")] = None
    """adds, rotates, biases or scores."""

    models: bool = False
    """List the released models that are known by name instead, with base, pairs and wavelengths."""

    def run(self) -> Answer:
        if self.models:
            if self.name or self.door is not None:
                raise ValueError("models must come without a name and --door; got both. Leave one out.")
            return list_models()
        model = None if self.name is None or self.name in {one.name for one in CATALOG} else named_model(self.name)
        if model is not None and self.door is None:
            return list_model(model, str(self.name))
        rows = [_row_named(self.name)] if self.name else list(CATALOG)
        if self.door is not None:
            doors = sorted({candidate.encoding.door for candidate in CATALOG})
            if self.door not in doors:
                raise ValueError(f"door must be one of {', '.join(doors)}; got {self.door!r}. Choose one of these.")
            if self.name and rows[0].encoding.door != self.door:
                raise ValueError(
                    f"door must be that of {rows[0].name}, {rows[0].encoding.door}, or be left out; got {self.door!r}. "
                    "Leave it out."
                )
            rows = [candidate for candidate in rows if candidate.encoding.door == self.door]
        return Answer(
            lambda: [_facts(candidate) for candidate in rows],
            lambda: _encoding_lines(rows) if self.name else _catalog_lines(rows),
        )


def _row_named(name: str) -> Row:
    """Catalog row of an encoding by name; the error for an unknown name suggests similar encodings and models."""
    try:
        return row(name)
    except ValueError as error:
        raise ValueError(f"{error} {model_advice(name)}") from None


def _claims(candidate: Row) -> list[str]:
    return sorted(str(claim) for claim in candidate.samples[0].claims)


def _facts(candidate: Row) -> dict[str, Any]:
    return {
        "name": candidate.name,
        "door": candidate.encoding.door,
        "claims": _claims(candidate),
        **attributes(candidate, "paper", "elsewhere", "use", "samples"),
    }


def _catalog_lines(rows: list[Row]) -> list[str]:
    cells = [(one.name, one.encoding.door, ", ".join(_claims(one)), one.paper) for one in rows]
    return columns(("name", "door", "claims", "paper"), cells)


def _encoding_lines(rows: list[Row]) -> Iterator[str]:
    for one in rows:
        yield Heading(one.name)
        yield f"door       {one.encoding.door}"
        yield f"claims     {', '.join(_claims(one)) or 'none'}"
        yield f"paper      {one.paper}"
        yield f"elsewhere  {', '.join(one.elsewhere)}"
        yield f"use        {one.use}"
        yield from (f"{'samples' if not i else '':<11}{sample!r}" for i, sample in enumerate(one.samples))
