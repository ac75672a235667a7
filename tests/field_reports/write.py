"""Writes the ledger and the page anew, from what posenc says today: python -m field_reports.write [NAME ...]

With names, only these reports are asked again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from field_reports.cases import LEDGER, README, REPORTS, ledger
from field_reports.judge import OF_HARMLESS, OF_MISTAKES, judge
from field_reports.misses import MISSES
from field_reports.report import FORMS, Report

ABOUT = """# Field reports

Mistakes and harmless differences that people reported in public threads, each with the evidence that its user
had. They judge `posenc doctor` and were written before it was changed to pass them.

- The evidence comes from outside: stock classes of transformers with the wrong setting or a patched function,
  files as other tools write them, arithmetic written from the report. posenc makes none of it.
- What can be typed goes to `posenc doctor`, the rest to `posenc.diagnosis.diagnose`, as `docs/verifying.md`
  tells a user.
- A mistake is *named* if every finding is one of the mistakes that were made, and every one of them is found.
  The name or the sentence of a finding must use one of the words listed below, or a word that begins so. A
  served config may also be refused as invalid, if the error says which side it is and names the mistake.
- Other outcomes of a mistake: *misnamed* (another finding, or one too many), *unnamed* (a difference without a
  finding), *all clear* ("they agree"), *refused* (an error message), *crashed* (any other error).
- A harmless difference *passes* if posenc says that both sides agree. Otherwise it is *flagged*, *refused* or
  *crashed*.

`ledger.json` records today's outcomes. `test_field_reports.py` compares them with posenc every night; `make
test` runs a few quick ones that are right. When an outcome changes, run `PYTHONPATH=src:tests python -m
field_reports.write` and say in the commit why. You may add words that a right answer can use. Do not change
evidence to suit an answer.

To add a report, write a function in the file of its form. It builds both sides, carries `@mistake` or
`@harmless` with the threads, and its docstring says what went wrong, or why nothing did.

"""


def verdicts(names: list[str]) -> dict[str, dict[str, str]]:
    """The ledger with these reports asked again; all of them where no names are given."""
    previous = ledger() if names else {}
    found = {}
    for report in REPORTS:
        if names and report.name not in names:
            found[report.name] = previous[report.name]
            continue
        with tempfile.TemporaryDirectory() as folder:
            verdict = judge(report, Path(folder))
        found[report.name] = {"outcome": verdict.outcome, "message": verdict.message}
    return found


def page(outcomes: Mapping[str, str]) -> str:
    """README.md."""
    mistakes = [report for report in REPORTS if not report.is_harmless]
    harmless = [report for report in REPORTS if report.is_harmless]
    lines = [ABOUT + f"## Today: {len(mistakes)} mistakes, {len(harmless)} harmless differences\n"]
    lines += [*_counted("mistakes", mistakes, OF_MISTAKES, outcomes), ""]
    lines += [*_counted("harmless differences", harmless, OF_HARMLESS, outcomes), ""]
    lines += ["## What is missed, and why\n", *(f"- `{name}`: {reason}" for name, reason in MISSES.items()), ""]
    lines += [
        "## Mistakes\n",
        "| id | threads | theme | form | what must be named | today |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [_row(report, _wanted(report), outcomes[report.name]) for report in mistakes]
    lines += [
        "\n## Harmless differences\n",
        "| id | threads | theme | form | today |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [_row(report, None, outcomes[report.name]) for report in harmless]
    return "\n".join(lines) + "\n"


def _counted(title: str, reports: list[Report], kinds: tuple[str, ...], outcomes: Mapping[str, str]) -> list[str]:
    """How many of each form came out how."""
    lines = [f"| {title} | all | {' | '.join(kinds)} |", "| --- |" + " ---: |" * (len(kinds) + 1)]
    for form in (*FORMS, ""):
        mine = [outcomes[report.name] for report in reports if form in ("", report.form)]
        if mine:
            count = Counter(mine)
            lines.append(
                f"| {form or '**all**'} | {len(mine)} | {' | '.join(str(count[kind] or '') for kind in kinds)} |"
            )
    return lines


def _row(report: Report, wanted: str | None, outcome: str) -> str:
    threads = ", ".join(f"[{thread}]({_address(thread)})" for thread in report.threads)
    cells = [f"`{report.name}`", threads, report.theme, report.form, *([] if wanted is None else [wanted]), outcome]
    return f"| {' | '.join(cells)} |"


def _address(thread: str) -> str:
    repository, number = thread.split("#")
    return f"https://github.com/{repository}/issues/{number}"


def _wanted(report: Report) -> str:
    return "; and ".join(" or ".join(sorted(words)) for words in report.names)


def main() -> None:
    found = verdicts(sys.argv[1:])
    LEDGER.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    README.write_text(page({name: one["outcome"] for name, one in found.items()}), encoding="utf-8")


if __name__ == "__main__":
    main()
