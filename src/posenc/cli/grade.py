"""The sources' questions on the command line: listed, shown, graded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from posenc.cli import show
from posenc.diagnosis import CodeReport
from posenc.diagnosis.code.user_file import load
from posenc.inspect.course.questions import QUESTIONS, Grade, Question, grade, question


def run(
    name: str | None, answer: str | None, target: str | None, check: Callable[[Any], CodeReport], as_json: bool
) -> int:
    """0 for a right answer (and where there is nothing to grade), 1 for a wrong one."""
    if target is not None:
        raise ValueError("target must be left out with a question; got both. Give a function as --answer FILE.py:NAME.")
    if name is None:
        _list(as_json)
        return 0
    asked = question(name)
    if answer is None:
        _ask(asked, as_json)
        return 0
    if asked.kind == "function":
        return _function(asked, answer, check, as_json)
    result = grade(asked, answer)
    if as_json:
        print(show.as_json({"question": asked.name, "answer": answer, "right": result.right, "said": result.said}))
    else:
        _tell(asked, result)
    return 1 if result.right is False else 0


def _list(as_json: bool) -> None:
    if as_json:
        print(show.as_json([_facts(asked) for asked in QUESTIONS]))
        return
    show.table(
        ("question", "source", "what it asks", "answered by"), [(q.name, q.source, q.asks, q.kind) for q in QUESTIONS]
    )
    show.say("", 'posenc check --question lecture-d4 --answer "..." grades an answer.')


def _ask(asked: Question, as_json: bool) -> None:
    if as_json:
        print(show.as_json(_facts(asked)))
        return
    show.heading(f"{asked.name} ({asked.source})")
    place = "FILE.py:NAME" if asked.kind == "function" else "VALUE" if asked.kind in ("number", "position") else '"..."'
    show.say(asked.asks, f"posenc check --question {asked.name} --answer {place}")


def _facts(asked: Question) -> dict[str, str]:
    return {"name": asked.name, "source": asked.source, "asks": asked.asks, "kind": asked.kind}


def _tell(asked: Question, result: Grade) -> None:
    heading = {True: "right", False: "wrong", None: asked.asks}[result.right]
    show.heading(heading)
    show.say(*(line for line in result.said if line != "Right."))


def _function(asked: Question, answer: str, check: Callable[[Any], CodeReport], as_json: bool) -> int:
    """A function is graded as `posenc check` would: it must rotate, and rightly."""
    if ".py" not in answer:
        grade(asked, answer)
    report = check(load(answer))
    rotates = report.door == "rotates"
    right = report.right and rotates
    if as_json:
        print(show.as_json({"question": asked.name, "answer": answer, **show.facts(report), "right": right}))
    elif rotates:
        show.result(report)
    else:
        show.heading("wrong")
        show.say(f"It adds to its vectors ({report.convention}), and a rotation is asked for.")
    return 0 if right else 1
