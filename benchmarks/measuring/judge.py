"""Goals and figures: reached, within the gate, not reached, or not measured, and why."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from measuring.goals import REASONS, REASONS_OF, Goal, goals_of
from measuring.measure import over

Results = Mapping[str, Mapping[str, Any]]


def judged(results: Results, kind: str) -> list[dict[str, Any]]:
    """A row a goal of this kind of processor; results: what each benchmark wrote on it, by name."""
    reasons = REASONS_OF.get(kind, REASONS)
    return [_row(goal, results, reasons) for goal in goals_of(kind)]


def verdict(goal: Goal, figure: float | None) -> str:
    if figure is None:
        return "not measured"
    return "reached" if figure <= goal.most else "within the gate" if figure <= goal.gate else "not reached"


def _row(goal: Goal, results: Results, reasons: Mapping[str, str]) -> dict[str, Any]:
    figure, why = _found(goal, results)
    if verdict(goal, figure) == "not reached":
        why = next((reason for name, reason in reasons.items() if goal.what.startswith(name)), "")
    return {
        "what": goal.what,
        "figure": goal.figure,
        "goal": goal.most,
        "gate": goal.gate,
        "prototype": goal.prototype,
        "measured": figure,
        "verdict": verdict(goal, figure),
        "why": why,
    }


def _found(goal: Goal, results: Results) -> tuple[float | None, str]:
    """The figure that decides a goal, or why there is none."""
    if goal.not_measured:
        return None, goal.not_measured
    result = results.get(goal.benchmark)
    if result is None:
        return None, f"{goal.benchmark} was not run"
    if "failed" in result:
        return None, f"{goal.benchmark} {result['failed']}"
    case = next((case for case in result["cases"] if case["case"] == goal.case), None)
    if case is None:
        return None, f"no case {goal.case!r} in {goal.benchmark}"
    names = [name for name in (goal.variant, goal.below) if name]
    left_out = [f"{name}: {case['left out'][name]}" for name in names if name in case["left out"]]
    if left_out:
        return None, left_out[0]
    found = case["microseconds"] if goal.below else case["values"]
    absent = [name for name in names if name not in found]
    if absent:
        return None, f"{absent[0]!r} was not measured"
    if goal.below:
        return statistics.median(over(found, goal.variant, goal.below)), ""
    return found[goal.variant], ""
