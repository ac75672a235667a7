"""Claims of the source documents about encodings, statement by statement, with their verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posenc.explorer.views.view import View
from posenc.inspect.plain import as_plain
from posenc.lab.claims import claim_catalog, findings
from posenc.lab.claims.claim import Claim

CODE = """from posenc.lab.claims import claim_catalog, findings

filed = findings.read_findings()
for name, claim in claim_catalog.CLAIMS.items():
    print(claim.statement, filed[name].finding)"""


@dataclass(frozen=True)
class ClaimsView(View):
    """Every claim, with its rule and the finding on file."""

    def facts(self) -> dict[str, Any]:
        filed = findings.read_findings()
        shown = [_claim(name, claim, filed.get(name)) for name, claim in claim_catalog.CLAIMS.items()]
        return {"claims": shown, "code": CODE}


def _claim(name: str, claim: Claim, filed: findings.Filed | None) -> dict[str, Any]:
    return {
        "name": name,
        "statement": claim.statement,
        "sources": list(claim.sources),
        "question": claim.question,
        "rule": claim.rule,
        "trained": claim.trained,
        "revised": claim.revised,
        "verdict": "not run" if filed is None else filed.finding.verdict,
        "parts": [] if filed is None else as_plain(filed.finding.parts),
        "figures": [] if filed is None else as_plain(filed.finding.figures),
        "note": "" if filed is None else filed.finding.note,
    }
