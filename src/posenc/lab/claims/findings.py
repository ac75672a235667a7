"""What came out for each claim, a JSON file each; those of the last full run ship with posenc."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from posenc.core import plain_file
from posenc.lab.claims import claim_catalog
from posenc.lab.claims.claim import Claim, ClaimFinding
from posenc.lab.experiment import digest
from posenc.lab.write_whole import write_whole

#: The findings that ship with posenc.
FOLDER = Path(__file__).parent / "findings"
LARGEST_FINDING = 1 << 24


class Filed(NamedTuple):
    """A finding on file.

    Args:
        digest: Of the claim as it was decided.
    """

    finding: ClaimFinding
    digest: str


def claim_digest(claim: Claim) -> str:
    """16 digits that change with the statement, the rule and the runs of a claim."""
    runs = [each.identity for each in claim.experiments]
    return digest(json.dumps([claim.statement, claim.rule, runs]))


def read_finding(name: str, folder: Path = FOLDER) -> Filed | None:
    """The finding of a claim, or None where there is none; ValueError names a damaged file."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    text = plain_file.read_bytes(path, LARGEST_FINDING, advice=f"Move it away and run `posenc claims {name} --run`.")
    try:
        held = plain_file.json_of(text)
        runs = tuple((who, tuple((int(seed), float(n)) for seed, n in by.items())) for who, by in held["runs"].items())
        figures = tuple((name, float(number)) for name, number in held["figures"].items())
        if held["verdict"] not in ("supported", "contradicted", "undecided"):
            raise ValueError(f"unknown verdict {held['verdict']!r:.40}")
        return Filed(ClaimFinding(held["verdict"], figures, str(held["note"]), runs), str(held["digest"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} is damaged: {type(error).__name__} {error}. Delete it and run `posenc claims {name} --run`."
        ) from None


def write_finding(name: str, claim: Claim, finding: ClaimFinding, folder: Path) -> Path:
    """File a finding; the file is replaced as a whole."""
    folder.mkdir(parents=True, exist_ok=True)
    held: dict[str, Any] = {
        "statement": claim.statement,
        "verdict": finding.verdict,
        "note": finding.note,
        "figures": dict(finding.figures),
        "runs": {who: {str(seed): number for seed, number in by} for who, by in finding.runs},
        "digest": claim_digest(claim),
    }
    return write_whole(folder / f"{name}.json", (json.dumps(held, indent=1, ensure_ascii=False) + "\n").encode())


def trained_findings() -> dict[str, tuple[Claim, ClaimFinding]]:
    """The trained claims that have a finding among those that ship, by name."""
    filed = {name: read_finding(name) for name in claim_catalog.TRAINED}
    return {name: (claim_catalog.claim(name), each.finding) for name, each in filed.items() if each is not None}
