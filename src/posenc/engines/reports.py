"""Public threads that reported what engines made of files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

#: Facts alone: which thread, of which engine and mistake, and what it is about in our words.
REPORTS = Path(__file__).parent / "reports.json"


def reports_of(engine: str, model_type: str, mistakes: Sequence[str]) -> tuple[str, ...]:
    """Return public threads that report these mistakes: this engine's, then others' on the same model type.

    Args:
        engine: Name of the engine.
        model_type: Of the file.
        mistakes: Names of findings.

    Returns:
        A line for each thread, with whose it is where it is another engine's on the same model.
    """
    held = json.loads(REPORTS.read_text(encoding="utf-8"))["reports"]
    fitting = [
        one
        for one in held
        if set(one["mistakes"]) & set(mistakes) and (not one["model_types"] or model_type in one["model_types"])
    ]
    own = [one for one in fitting if engine == one["engine"] or engine.startswith(f"{one['engine']}-")]
    others = [one for one in fitting if one not in own and one["model_types"]]
    lines = [f"{one['thread']} ({one['about']})" for one in own]
    return (*lines, *(f"{one['thread']} ({one['engine']}: {one['about']})" for one in others))
