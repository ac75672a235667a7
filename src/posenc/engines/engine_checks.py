"""Checks of engines in a preflight: whether each does what the served file states."""

from __future__ import annotations

from dataclasses import replace

from posenc.core import validation
from posenc.diagnosis.before_serving import Preflight, PreflightCheck
from posenc.engines.side_by_side import EngineRow, EngineTable
from posenc.models.difference import EVERYTHING, PARTLY, Verdict


def with_engines(found: Preflight, table: EngineTable) -> Preflight:
    """Add a check for each engine of a table to a preflight.

    Args:
        found: The checks of the files.
        table: What engines make of the served file, from `engine_table`.

    Returns:
        The preflight, whose verdict and exit code count the engines too.

    Raises:
        TypeError: An argument is of another kind.

    Example:
        >>> from posenc.diagnosis import preflight
        >>> config = {"model_type": "llama", "num_hidden_layers": 2}
        >>> failed = EngineRow("mlx-lm", "0.32.2", "whole model", {}, failure="install: no network")
        >>> found = with_engines(preflight(config, config), EngineTable("config.json", "llama", (), (), (failed,)))
        >>> found.exit_code, found.checks[-1].lines
        (3, ('not compared: install: no network',))
    """
    validation.instance("found", found, Preflight, "what posenc.diagnosis.preflight returns")
    validation.instance("table", table, EngineTable, "what engine_table returns")
    return replace(found, checks=(*found.checks, *(_check(row) for row in table.rows)))


def _check(row: EngineRow) -> PreflightCheck:
    unknown = [name for name, cell in row.cells.items() if cell.source == "not known"]
    verdict: Verdict = "differ" if row.differs else PARTLY if row.failure or unknown else EVERYTHING
    lines = [f"{name}: {cell.value}" for name, cell in row.cells.items() if cell.source != "not known"]
    lines += [f"not compared: {name}, {row.cells[name].value}" for name in unknown if not row.failure]
    lines += [f"logits move by {change:.2g} up to {length:,} tokens apart" for length, change in row.effects.items()]
    lines += [f"not compared: {row.failure}"] if row.failure else []
    repair = (f"{row.engine}: {row.write}",) if row.differs and row.write else ()
    return PreflightCheck(f"{row.engine} {row.version}".strip(), verdict, tuple(lines), repair)
