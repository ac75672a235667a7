"""Statements of the sources to judge, each with the finding that decides it, and their questions with the answers."""

from __future__ import annotations

from typing import Any

from posenc.core import text_lines
from posenc.lab.claims.claim_catalog import CLAIMS
from posenc.lab.claims.findings import read_findings
from posenc.learn.course.questions import QUESTIONS, Question, grade

#: Claims of `posenc.lab.claims` that a reader of the lesson can judge, by their names.
ASKED = (
    "attention_has_no_order",
    "wavelength_is_the_divisor",
    "one_sine_collides",
    "shift_is_a_rotation",
    "angle_is_independent_of_content",
    "near_tokens_score_higher",
    "rotation_keeps_the_norm",
    "exponential_form_is_more_stable",
    "every_position_is_unique",
    "rotary_needs_less_arithmetic",
    "fixed_encoding_extrapolates",
    "fixed_extrapolates_better_than_learned",
    "relative_suits_fixed_offsets",
    "rotary_translates_better",
)
#: Figures that an answer shows.
MOST = 4


def quiz() -> list[dict[str, Any]]:
    """Each statement with its verdict, what it was decided by, and figures."""
    filed = read_findings()
    return [
        {
            "statement": CLAIMS[name].statement,
            "verdict": filed[name].finding.verdict,
            "note": filed[name].finding.note,
            "rule": CLAIMS[name].rule,
            "trained": CLAIMS[name].trained,
            "figures": [
                f"{label}: {text_lines.number(value, 4)}" for label, value in filed[name].finding.figures[:MOST]
            ],
        }
        for name in ASKED
    ]


def exercises() -> list[dict[str, Any]]:
    """List the sources' questions, except those for a function; the practice question comes with its grades."""
    return [
        {
            **{name: getattr(one, name) for name in ("name", "source", "asks", "kind", "answer", "note", "tolerance")},
            "ideas": [{"name": name, "pattern": pattern} for name, pattern in one.ideas],
            "numbers": [] if one.numbers is None else [float(value) for value in one.numbers()],
            "grades": _grades(one) if one.kind == "position" else {},
        }
        for one in QUESTIONS
        if one.kind != "function"
    ]


def _grades(asked: Question) -> dict[str, list[str]]:
    """Grades that `posenc check` gives to the two positions that fit, and to any other."""
    return {answer: list(grade(asked, answer).lines) for answer in ("7", "929505", "1")}
