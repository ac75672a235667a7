"""Hands each report's evidence to posenc as its user would, and judges the answer."""

from __future__ import annotations

import contextlib
import io
import json
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from field_reports.report import CONFIGS, Evidence, Report
from posenc import diagnosis
from posenc.cli import main

#: What may come of a mistake, and of a harmless difference; the first of each is right.
OF_MISTAKES = ("named", "misnamed", "unnamed", "all clear", "refused", "crashed")
OF_HARMLESS = ("passed", "flagged", "refused", "crashed")
LONGEST = 300


@dataclass(frozen=True)
class Answer:
    """What posenc answered: whether the sides agree, and its findings as text.

    refused: whether it compared nothing and `message` is its error.   crashed: whether it failed in any other way.
    """

    agree: bool = False
    findings: tuple[str, ...] = ()
    message: str = ""
    refused: bool = False
    crashed: bool = False


@dataclass(frozen=True)
class Verdict:
    outcome: str
    message: str


def judge(report: Report, folder: Path) -> Verdict:
    """Builds a report's evidence, asks posenc, and compares its answer with what a right one must say."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evidence = report.build(folder)
        answer = answer_to(evidence)
    message = answer.message or " | ".join(answer.findings)
    return Verdict(outcome(report, answer), message.replace(str(folder), ".")[:LONGEST])


def outcome(report: Report, answer: Answer) -> str:
    if answer.crashed:
        return "crashed"
    if answer.refused:
        return "named" if _refused_rightly(report, answer.message) else "refused"
    if report.is_harmless:
        return "passed" if answer.agree else "flagged"
    if answer.agree:
        return "all clear"
    if not answer.findings:
        return "unnamed"
    return "named" if names(report.names, answer.findings) else "misnamed"


def _refused_rightly(report: Report, message: str) -> bool:
    """Whether the refusal of an invalid config says which side is invalid and names the mistake in it."""
    says_side = any(side in message for side in ("second", "actual", "served"))
    return report.form == CONFIGS and not report.is_harmless and says_side and names(report.names, [message])


def names(wanted: Sequence[frozenset[str]], findings: Sequence[str]) -> bool:
    """Whether every mistake is among the findings, and every finding is one of the mistakes."""
    matches = [[_mentions(text, words) for words in wanted] for text in findings]
    return all(any(row) for row in matches) and all(any(column) for column in zip(*matches, strict=True))


def _mentions(text: str, words: Iterable[str]) -> bool:
    """Whether a word of the text begins with one of these words."""
    return any(re.search(rf"(?<![^\W_]){re.escape(word)}", text, re.IGNORECASE) for word in words)


def answer_to(evidence: Evidence) -> Answer:
    """The answer of the command line to what can be typed, of the function to anything else."""
    try:
        result = _run(evidence) if evidence.can_be_typed else _diagnose(evidence)
    except (ValueError, TypeError) as error:
        return Answer(refused=True, message=str(error))
    except Exception as error:  # a crash is an outcome to record
        return Answer(crashed=True, message=f"{type(error).__name__}: {error}")
    return _of_output(*result) if isinstance(result, tuple) else _of_diagnosis(result)


def _diagnose(evidence: Evidence) -> diagnosis.Diagnosis:
    """The function's answer. A live model that shows too little by itself is run."""
    options = _options(evidence)
    try:
        return diagnosis.diagnose(evidence.expected, evidence.actual, **options)
    except ValueError:
        if evidence.tokens is None:
            raise
        from posenc.transformers import capture  # loads torch, which most reports do not need

        return diagnosis.diagnose(evidence.expected, capture(evidence.actual, evidence.tokens), **options)


def _of_diagnosis(result: diagnosis.Diagnosis) -> Answer:
    findings = tuple(f"{one.where} {one.name}: {one.sentence}".strip() for one in result.findings)
    return Answer(result.agree, findings, "" if findings else str(result))


def _run(evidence: Evidence) -> tuple[int, str, str]:
    """The exit code of the command, and what it prints to both streams."""
    options = [word for name, value in _options(evidence).items() for word in (f"--{name}", str(value))]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as error:
        code = main(("doctor", str(evidence.expected), str(evidence.actual), *options, "--json"))
    return code, out.getvalue(), error.getvalue()


def _of_output(code: int, out: str, error: str) -> Answer:
    if code == 2:
        return Answer(refused=True, message=error.strip())
    result = json.loads(out)
    findings = tuple("{where} {name}: {sentence}".format(**one).strip() for one in result["findings"])
    return Answer(result["agree"], findings, "" if findings else " ".join(result["notes"]))


def _options(evidence: Evidence) -> dict[str, Any]:
    given = {"layer": evidence.layer, "part": evidence.part, "layout": evidence.layout}
    return {name: value for name, value in given.items() if value is not None}
