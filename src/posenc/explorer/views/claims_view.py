"""Claims of the source documents about encodings, statement by statement, with their verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posenc.explorer.views.view import View
from posenc.inspect.plain import as_plain
from posenc.lab.claims import claim_catalog, findings

CODE = """from posenc.lab.claims import claim_catalog, findings

for name in claim_catalog.NAMES:
    print(claim_catalog.claim(name).statement, findings.read_finding(name).finding)"""


@dataclass(frozen=True)
class ClaimsView(View):
    """Every claim, with its rule and the finding on file."""

    def facts(self) -> dict[str, Any]:
        return {"claims": [_claim(name) for name in claim_catalog.NAMES], "code": CODE}


def _claim(name: str) -> dict[str, Any]:
    claim, filed = claim_catalog.claim(name), findings.read_finding(name)
    return {
        "name": name,
        "statement": claim.statement,
        "sources": list(claim.sources),
        "rule": claim.rule,
        "trained": claim.trained,
        "verdict": "not run" if filed is None else filed.finding.verdict,
        "figures": [] if filed is None else as_plain(filed.finding.figures),
        "note": "" if filed is None else filed.finding.note,
    }
