"""Roles of the frequencies of small trained models: what each rotary pair costs, and its share by head."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posenc.explorer.views.view import View

#: Means over the models of a stored run, which docs/scripts/generate.py writes from docs/claims_runs/roles.jsonl.
STORED = Path(__file__).parents[1] / "frequency_roles.json"
CODE = """# Trains such models and measures them; --model takes one of your own.
# posenc frequencies --by head

import json
from pathlib import Path

import posenc.explorer

stored = Path(posenc.explorer.__file__).with_name("frequency_roles.json")
print(json.loads(stored.read_text())["shares"])"""


@dataclass(frozen=True)
class RolesView(View):
    """Stored measurements of small trained models: the cost of each rotary pair, and its share by head."""

    def facts(self) -> dict[str, Any]:
        return {**json.loads(STORED.read_text(encoding="utf-8")), "code": CODE}
