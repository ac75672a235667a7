"""Statements of the sources to judge, true or false, each with the finding that decides it."""

from __future__ import annotations

from typing import Any

from posenc.core import text_lines
from posenc.lab.claims.claim_catalog import CLAIMS
from posenc.lab.claims.findings import read_findings

#: Claims of `posenc.lab.claims` that a reader of the lesson can judge, by their names.
ASKED = (
    "attention_has_no_order",
    "wavelength_is_the_divisor",
    "one_sine_collides",
    "shift_is_a_rotation",
    "angle_is_independent_of_content",
    "near_tokens_score_higher",
    "rotation_keeps_the_norm",
    "exponent_is_another_base",
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
