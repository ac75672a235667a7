"""Every field report, and the ledger of what comes of each today."""

from __future__ import annotations

import json
from pathlib import Path

from field_reports import (
    biases,
    configs,
    dumped_logits,
    folders,
    ggufs,
    live,
    position_tables,
    tables,
    vectors,
)
from field_reports.report import Report, reports_of

MODULES = (configs, folders, ggufs, tables, vectors, dumped_logits, biases, live, position_tables)
REPORTS: tuple[Report, ...] = tuple(report for module in MODULES for report in reports_of(module))
LEDGER = Path(__file__).parent / "ledger.json"
README = Path(__file__).parent / "README.md"


def ledger() -> dict[str, dict[str, str]]:
    """Name of a report: its outcome, and what posenc said."""
    return json.loads(LEDGER.read_text(encoding="utf-8"))
