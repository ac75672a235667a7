"""Findings of claims in a JSON file. Those of the last full run ship with posenc."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

from posenc.core import plain_file
from posenc.core.plain_file import write_whole
from posenc.lab.claims import claim_catalog
from posenc.lab.claims.claim import Claim, ClaimFinding, Word
from posenc.lab.experiment import digest

#: The findings that ship with posenc.
SHIPPED = Path(__file__).with_name("findings.json")
LARGEST_FILE_OF_FINDINGS = 1 << 24


class Filed(NamedTuple):
    """Finding as the file holds it, with its date and the digest of the claim as it was decided.

    Attributes:
        finding: What came out.
        digest: Of the claim as it was decided.
        date: Of the day on which it was decided, such as "2026-11-24".
    """

    finding: ClaimFinding
    digest: str
    date: str


def claim_digest(claim: Claim) -> str:
    """16 hexadecimal digits that change with the statement, the rule and the runs of a claim."""
    return digest(json.dumps([claim.statement, claim.rule, claim.runs]))


def read_findings(path: Path = SHIPPED) -> dict[str, Filed]:
    """Read the findings of a file.

    Args:
        path: Without a file there are no findings.

    Returns:
        Findings by the names of their claims.

    Raises:
        ValueError: The file is damaged; the message names it and the claim.
    """
    return {name: _filed(path, name, held) for name, held in _held(path).items()}


def write_findings(path: Path, decided: Mapping[str, tuple[Claim, ClaimFinding]], date: str) -> Path:
    """Write findings to a file, which keeps those of other claims and is replaced atomically.

    Args:
        path: Of the file.
        decided: Claims and their findings, by name.
        date: The day on which they were decided, in ISO format.

    Returns:
        The path; the file is on disk by then.

    Raises:
        ValueError: The file that is there is damaged.
    """
    held = _held(path) | {name: _plain(*each, date) for name, each in decided.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_whole(path, (json.dumps(held, indent=1, ensure_ascii=False) + "\n").encode())


def trained_findings() -> dict[str, tuple[Claim, ClaimFinding]]:
    """The trained claims that have a finding among those that ship, by name."""
    filed = read_findings()
    return {name: (claim_catalog.claim(name), filed[name].finding) for name in claim_catalog.TRAINED if name in filed}


def _plain(claim: Claim, finding: ClaimFinding, date: str) -> dict[str, Any]:
    return {
        "statement": claim.statement,
        "verdict": finding.verdict,
        "note": finding.note,
        "figures": dict(finding.figures),
        "runs": {who: {str(seed): number for seed, number in by} for who, by in finding.runs},
        "parts": dict(finding.parts),
        "digest": claim_digest(claim),
        "date": date,
    }


def _held(path: Path) -> dict[str, Any]:
    """Findings of a file as JSON values, by name of the claim; empty without a file."""
    if not path.exists():
        return {}
    text = plain_file.read_bytes(path, LARGEST_FILE_OF_FINDINGS, advice="Move it away and run `posenc claims --run`.")
    try:
        return dict(plain_file.json_of(text).items())
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} is damaged: {type(error).__name__} {error}. Delete it and run `posenc claims --run`."
        ) from None


def _filed(path: Path, name: str, held: Any) -> Filed:
    try:
        runs = tuple((who, tuple((int(seed), float(n)) for seed, n in by.items())) for who, by in held["runs"].items())
        figures = tuple((figure, float(number)) for figure, number in held["figures"].items())
        parts = tuple(held["parts"].items())
        unknown = {held["verdict"], *dict(parts).values()} - set(get_args(Word))
        if unknown:
            raise ValueError(f"unknown verdict {min(map(str, unknown))!r:.40}")
        finding = ClaimFinding(held["verdict"], figures, str(held["note"]), runs, parts)
        return Filed(finding, str(held["digest"]), str(held["date"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} is damaged at {name}: {type(error).__name__} {error}. Delete that part and run "
            f"`posenc claims {name} --run`."
        ) from None
