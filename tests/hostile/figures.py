"""Figures of the last whole run of the hostile calls, which SECURITY.md states; the nightly tests write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).parents[2] / "quality" / "hostile_calls.json"


def keep_figures(found: dict[str, Any]) -> None:
    """Write figures, (tried, answered well) each, beside those of other tests."""
    kept = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    FIGURES.write_text(json.dumps(kept | found, indent=1) + "\n", encoding="utf-8")
