"""How a row of the bank is judged: seen, named, and agreement where nothing is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

GAPS = Path(__file__).with_name("known_gaps.json")
SEEN_ALL, SEEN_PART = 0, 3  # exit codes of the doctor where both agree


def judged(diagnosis: Any, words: tuple[str, ...]) -> str:
    """Empty where the mistake is seen and a finding holds one of the words; else what is amiss."""
    if diagnosis.agree:
        return f"all clear: {diagnosis.verdict}"
    text = " ".join(str(finding) + finding.where for finding in diagnosis.findings).lower()
    if not text:
        return "seen, not named"
    return "" if any(word.lower() in text for word in words) else f"named otherwise: {diagnosis.findings[0].name}"


def unharmed(diagnosis: Any, everything: bool | None = None) -> str:
    """Empty where nothing is flagged; with `everything` True or False, also where it was, or was not, all looked at."""
    if not diagnosis.agree:
        return "false alarm: " + "; ".join([*(finding.name for finding in diagnosis.findings), *diagnosis.worst])
    if everything is None or diagnosis.exit_code == (SEEN_ALL if everything else SEEN_PART):
        return ""
    return f"not everything: {diagnosis.not_shown}" if everything else "says that it saw everything"


def against_gaps(outcomes: dict[str, str]) -> None:
    """Fail where a row fails that is not listed, or where a listed one passes: its line is to be deleted."""
    known = json.loads(GAPS.read_text()) if GAPS.exists() else {}
    assert outcomes, "there must be rows to judge"
    wrong = {name: found for name, found in outcomes.items() if found and name not in known}
    mended = [name for name, found in outcomes.items() if not found and name in known]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(outcomes)} rows fail:", *map(": ".join, wrong.items())])
    assert not mended, f"these pass now; delete them from {GAPS.name}: {mended}"


def attempt(work: Callable[[], Any], judge: Callable[..., str], *more: Any) -> str:
    """Run a diagnosis; an error that it raises is what is amiss, in one line.

    A config that is refused because of the planted key, by its name, is answered well.
    """
    try:
        return judge(work(), *more)
    except Exception as error:
        said = " ".join(str(error).split())
        named = judge is judged and "cannot be read" in said and any(word in said for word in more[0])
        return "" if named else f"{type(error).__name__}: {said[:200]}"
