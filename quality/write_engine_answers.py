"""Write what engines make of some released configs into src/posenc/explorer/engine_answers.json, which its page shows.

Configs are those of tests/models/released.json, in the spelling of their files and in that of transformers 5. Engines
run here, as in `posenc engines`; answers are kept in the cache folder, so a stopped run goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from posenc.core.text_lines import escaped
from posenc.engines import EngineRow, EngineTable, engine_table
from posenc.models.config.reader import from_config

ROOT = Path(__file__).parents[1]
RELEASED = ROOT / "tests" / "models" / "released.json"
WRITTEN = ROOT / "src" / "posenc" / "explorer" / "engine_answers.json"
#: Configs to ask about; each takes a minute or two.
NAMES = ("gpt-oss 20B",)
#: Engines whose answers on these configs are confirmed by a computation of its own (tests/explorer).
ENGINES = ("transformers", "llama.cpp")
#: Keys that transformers 5 folds into rope_parameters.
OLDER = ("rope_theta", "rope_scaling", "partial_rotary_factor")


def main() -> None:
    """Ask every engine, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    models, engines = [], {}
    for name, config in configs():
        table = engine_table(config, engines=ENGINES, cache=options.cache)
        print(escaped(f"{name}: {table.verdict}"), file=sys.stderr, flush=True)
        models.append({"name": name, "config": config, **facts(table)})
        ran = (row for row in table.rows if not row.failure)
        engines |= {row.engine: {"version": row.version, "kind": row.kind} for row in ran}
    data = {"schema": "posenc.standing", "version": 1, "engines": engines, "models": models}
    WRITTEN.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def configs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each config by its name, and one that has a rotation again as transformers 5 saves it."""
    released = {one["checkpoint"]: one["config"] for one in json.loads(RELEASED.read_text(encoding="utf-8"))}
    for name in NAMES:
        yield name, released[name]
        newer = as_saved(released[name])
        if newer is not None:
            yield f"{name}, as transformers 5 saves it", newer


def as_saved(config: dict[str, Any]) -> dict[str, Any] | None:
    """The config with rope_parameters in place of the older keys; None where that says something else."""
    scaling = config.get("rope_scaling") or {}
    rope = {"rope_type": "default", **scaling, "rope_theta": config.get("rope_theta")}
    rope = {("rope_type" if key == "type" else key): value for key, value in rope.items() if value is not None}
    saved = {key: value for key, value in config.items() if key not in OLDER} | {"rope_parameters": rope}
    if "rope_parameters" in config or "rope_theta" not in config:
        return None
    try:
        same = [group.encodings for group in from_config(saved).groups]
    except (ValueError, TypeError):
        return None
    return saved if same == [group.encodings for group in from_config(config).groups] else None


def facts(table: EngineTable) -> dict[str, Any]:
    """Facts of a table that the page shows."""
    rows = {row.engine: row_facts(row) for row in table.rows}
    return {"model_type": table.model_type, "fields": list(table.fields), "engines": rows}


def row_facts(row: EngineRow) -> dict[str, Any]:
    """Facts of one engine: its cells, how far logits move, and why nothing is known."""
    cells = {name: {"source": cell.source, "differs": cell.differs, "value": cell.value}
             for name, cell in row.cells.items()}  # fmt: skip
    more = {"effects": {str(length): change for length, change in row.effects.items()}, "why": row.failure}
    return {"cells": cells, **{name: value for name, value in more.items() if value}}


if __name__ == "__main__":
    main()
