"""docs/tracing.md: its table of names has every name that the verdict of a trace writes itself, and no other."""

from __future__ import annotations

import ast
from pathlib import Path

from posenc.diagnosis.tracing import judge_trace, judge_visible, trace_causes

PAGE = Path(__file__).parents[2] / "docs" / "tracing.md"


def written(module: object) -> set[str]:
    """Names that a module gives to findings: the first text of a `Finding`, a `Cause` or a returned tuple."""
    tree = ast.parse(Path(str(module.__file__)).read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    firsts = [node.args[0] for node in calls if node.func.id in ("Finding", "Cause") and node.args]
    returned = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    firsts += [value.elts[0] for value in returned if isinstance(value, ast.Tuple)]
    return {first.value for first in firsts if isinstance(first, ast.Constant) and isinstance(first.value, str)}


def test_the_table_has_every_name() -> None:
    rows = PAGE.read_text().split("## What a verdict names")[1].split("\n\n")[1].splitlines()[2:]
    names = [row.split("|")[1].strip() for row in rows]
    known = written(trace_causes) | written(judge_trace) | written(judge_visible)
    assert {cause.name for cause in trace_causes.CAUSES} < known
    assert sorted(names) == sorted(known)
